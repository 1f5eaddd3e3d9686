import { expect, test } from 'vitest'
import { plainCode, sixDigits } from '../../src/protocol/typed-code.ts'

test('six digits are six digits by any keyboard', () => {
  const scripts = Intl.supportedValuesOf('numberingSystem').map((system) => {
    const format = new Intl.NumberFormat(`en-u-nu-${system}`, { useGrouping: false, minimumIntegerDigits: 6 })
    return [format.format(123_456), format.format(78_901)] as const
  })
  const ofDigits = scripts.filter((texts) => texts.every((text) => /^\p{Nd}{6}$/u.test(text)))
  expect(ofDigits.length).toBeGreaterThan(40)
  for (const [one, other] of ofDigits)
    expect([one, sixDigits(one), sixDigits(other)]).toEqual([one, '123456', '078901'])
})

test.each([' 123 456\n', '123-456', '12 34 – 56', '１２３　４５６', '①２3٤५６'])('%j is 123456', (typed) =>
  expect(sixDigits(typed)).toBe('123456'),
)

test.each([
  '',
  '12345',
  '1234567',
  '12345é',
  '12345\u00bd',
  '1234五6',
  'abcdef',
  '123456\0',
  '123.456',
  '+123456',
])('%j is no such code', (typed) => expect(sixDigits(typed)).toBeNull())

test('letters are those of ASCII where they were typed at full width', () => {
  expect(plainCode('ｂｃｄ－ｆ７')).toBe('bcdf7')
})
