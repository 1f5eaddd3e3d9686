import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isStorable } from '../../src/protocol/json.ts'
import { runs } from '../support/runs.ts'

test.each([
  'CORP\\uday',
  'CORP\\ud800',
  '\\u0000',
  '\\\\ud83d',
  '"\\u0000"',
  '🦊',
  ['\\', { 'CORP\\udo': ['\\udolf'] }],
])('%j can be stored: a backslash is one', (value) => expect(isStorable(value)).toBe(true))

test.each([
  '\0',
  '\ud800',
  'a\\\0',
  '\\\\\udfff',
  '\\u0000\0',
  { '\0': 1 },
  [{ a: ['\ud83d\ud83d\udc4d'] }],
  undefined,
])('%j cannot', (value) => expect(isStorable(value)).toBe(false))

test('whatever the text, it is stored where it is whole and has no NUL', () => {
  const unit = fc.constantFrom('\\', 'ud83d', 'u0000', 'uday', '"', '\0', '\ud83d', '\udc4d')
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 8 }), (units) => {
      const text = units.join('')
      const isWhole = text.isWellFormed() && !text.includes('\0')
      expect([isStorable(text), isStorable({ a: [text] }), isStorable({ [text]: 1 })]).toEqual(
        Array(3).fill(isWhole),
      )
    }),
    { numRuns: runs(500) },
  )
})
