import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inEnglish } from '../../src/protocol/message.ts'
import { chosenUsernameProblem, usernameKey, usernameProblem } from '../../src/protocol/username.ts'

test.for([
  ['ALICE', 'alice'],
  ['Alice ', 'alice'],
  ['Zoe\u0308', 'Zo\u00eb'],
  ['ÅSA@EXAMPLE.COM', 'a\u030asa@example.com'],
  ['\u212Aelvin', 'kelvin'],
  ['two words', 'Two Words'],
])('%s and %s are one user', ([one, other]) => {
  expect(usernameKey(one!)).toBe(usernameKey(other!))
})

test.for([
  ['alice', 'a lice'],
  ['alice', '\u0430lice'],
  ['rn', 'm'],
  ['i', '\u0131'],
  ['alice', 'alice\u200b'],
])('%s and %s are two', ([one, other]) => {
  expect(usernameKey(one!)).not.toBe(usernameKey(other!))
})

test.for<[unknown, RegExp]>([
  ['', /empty/],
  [' \t ', /empty/],
  ['\u200b\u202e', /empty/],
  ['\u3164\u2800', /empty/],
  ['a'.repeat(257), /256/],
  ['a\0b', /control/],
  ['a\nb', /control/],
  ['a\u0085b', /control/],
  ['a\u2028b', /control/],
  ['\ud800', /broken Unicode/],
  [7, /text/],
  [undefined, /text/],
  [null, /text/],
  [['alice'], /text/],
])('%j is no user name', ([username, why]) => {
  expect(inEnglish(usernameProblem(username)!)).toMatch(why)
  expect(typeof username === 'string' ? usernameKey(username) : null).toBeNull()
})

test.for(['a', '\u202ealice', 'zero\u200bwidth', '🙂', 'a'.repeat(256)])('%j is one', (username) => {
  expect(usernameProblem(username)).toBeUndefined()
})

test.each([
  ['al\u200bice', /nobody sees/],
  ['alice\ufff9', /nobody sees/],
  ['\u0600alice', /nobody sees/],
  ['alice  liddell', /ordinary spaces only, one at a time/],
  ['alice\u00a0liddell', /ordinary spaces only, one at a time/],
  ['alice\u3000liddell', /ordinary spaces only, one at a time/],
  ['alice \u2009liddell', /ordinary spaces only, one at a time/],
  ['\ufff9', /empty/],
])('%j is nobody’s to choose: it looks like another one', (username, why) => {
  expect(inEnglish(chosenUsernameProblem(username)!)).toMatch(why)
})

test.each(['alice liddell', ' alice ', 'María José de la Cruz', 'علي', '爱丽丝', 'ali-ce_1'])(
  '%j may be chosen',
  (username) => expect(chosenUsernameProblem(username)).toBeUndefined(),
)

test('the lookup form is its own lookup form, and what a database can hold', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
      const key = usernameKey(text)
      if (key === null) return
      expect(usernameKey(key)).toBe(key)
      expect(key).not.toMatch(/\p{Cc}/u)
      expect(usernameKey(text.normalize('NFD'))).toBe(key)
    }),
    { numRuns: 1_000 },
  )
})
