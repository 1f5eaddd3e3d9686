import fc from 'fast-check'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { assertLengths, compileParameters, Repeatable } from '../../src/protocol/parameters.ts'
import { attempt } from '../support/attempt.ts'
import { parseForm } from '../../src/protocol/wire.ts'

const parse = compileParameters(
  Type.Object({
    voucher: Type.String({ pattern: '^[0-9]+$', maxLength: 8 }),
    note: Type.Optional(Type.String()),
    resource: Type.Optional(Repeatable()),
  }),
)

test('the parameters of the schema come out, and unknown ones do not', () => {
  expect(parse(parseForm('voucher=12&note=a+b&x=1&constructor=2&resource=r'))).toEqual({
    voucher: '12',
    note: 'a b',
    resource: ['r'],
  })
  expect(parse(parseForm('voucher=1'))).toEqual({ voucher: '1' })
})

test('a missing and a malformed parameter are named, and what was sent is not', () => {
  expect(() => parse(parseForm(''))).toThrow('the parameter voucher is missing')
  expect(() => parse(parseForm('voucher=&note=a'))).toThrow('the parameter voucher is missing')
  expect(() => parse(parseForm('voucher=abc'))).toThrow(/^the parameter voucher is malformed$/)
  expect(() => parse(parseForm('voucher=123456789'))).toThrow(/^the parameter voucher is malformed$/)
})

test('whatever was sent, the answer is typed parameters or invalid_request', () => {
  const pair = fc.tuple(fc.constantFrom('voucher', 'note', 'resource', 'x'), fc.string({ maxLength: 12 }))
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 4 }), (pairs) => {
      const { value, error } = attempt(() => parse(parseForm(new URLSearchParams(pairs).toString())))
      const typed = { voucher: expect.stringMatching(/^[0-9]{1,8}$/) }
      const refused = { code: 'invalid_request', status: 400 }
      expect(value ?? error).toMatchObject(value ? typed : refused)
      expect(
        [value?.note, ...(value?.resource ?? [])].every((one) => /string|undefined/.test(typeof one)),
      ).toBe(true)
    }),
  )
})

test.each([
  ['scope', 2048],
  ['client_secret', 1024],
  ['code_verifier', 128],
  ['anything', 4096],
  ['toString', 4096],
])('%s may have %i characters and no more', (name, limit) => {
  const wire = (length: number) => parseForm(`${name}=${'a'.repeat(length)}`)
  expect(() => assertLengths(wire(limit))).not.toThrow()
  expect(() => assertLengths(wire(limit + 1))).toThrow(/^a parameter is too long/)
})

test('each of several values counts, and an unknown name is not told', () => {
  const long = 'a'.repeat(2049)
  expect(() => assertLengths(parseForm(`resource=a&resource=${long}`))).toThrow(
    'a parameter is too long: resource',
  )
  expect(() => assertLengths(parseForm(`evil=${long.repeat(2)}`))).toThrow(/^a parameter is too long$/)
})
