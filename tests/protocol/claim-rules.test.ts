import { expect, test } from 'vitest'
import { obeys } from '../../src/protocol/claim-rules.ts'

test.each<[string, Record<string, unknown>, Record<string, string | string[]>]>([
  ['a text', { tenant: '9007199254740993' }, { tenant: '9007199254740993' }],
  ['a number', { tenant: 42 }, { tenant: '42' }],
  ['the greatest safe number', { tenant: 9007199254740991 }, { tenant: ['1', '9007199254740991'] }],
  ['a flag', { admin: true }, { admin: 'true' }],
  ['one of a list', { aud: ['a', 7] }, { aud: '7' }],
])('%s is what the rule wants', (_what, claims, rules) => {
  expect(obeys(claims, rules)).toBe(true)
})

test.each([
  ['9007199254740993', '9007199254740992'],
  ['[9007199254740993]', '9007199254740992'],
  ['1e21', '1e+21'],
  ['0.1000000000000000055', '0.1'],
])('the number %s may be read as another, and obeys no rule', (written, wanted) => {
  expect(obeys({ tenant: JSON.parse(written) as unknown }, { tenant: wanted })).toBe(false)
})
