import fc from 'fast-check'
import { expect, test } from 'vitest'
import { attempt } from '../support/attempt.ts'
import { formatScope, isScopeToken, parseScope } from '../../src/protocol/scope.ts'

const character = fc.constantFrom(
  ...Array.from({ length: 94 }, (_, at) => String.fromCodePoint(0x21 + at)).filter(
    (one) => !'"\\'.includes(one),
  ),
)
const name = fc.string({ unit: character, minLength: 1, maxLength: 20 })

test('what is formatted is parsed back: the same names, in the same order', () => {
  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 100 }), (names) => {
      expect([...parseScope(formatScope(names))]).toEqual(names)
    }),
  )
})

test('any text is a set of scope names, or invalid_scope', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const { value, error } = attempt(() => [...parseScope(text)])
      const refused = expect.objectContaining({ code: 'invalid_scope', status: 400 })
      expect(value?.every(isScopeToken) ?? error).toEqual(value ? true : refused)
    }),
  )
})

test('repetitions and further spaces are dropped', () => {
  expect([...parseScope(' b  a b ')]).toEqual(['b', 'a'])
})

test.each([
  '',
  ' ',
  'a\tb',
  'a"b',
  'a\\b',
  'ü',
  'a\0',
  'x'.repeat(201),
  Array.from({ length: 101 }, (_, at) => `s${at}`).join(' '),
])('refused: %j', (text) => {
  expect(() => parseScope(text)).toThrow('the scope is malformed')
})
