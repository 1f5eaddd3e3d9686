import fc from 'fast-check'
import { expect, test } from 'vitest'
import { attempt } from '../support/attempt.ts'
import { parseForm } from '../../src/protocol/wire.ts'

test('what URLSearchParams writes is read back, less what is empty', () => {
  const name = fc
    .string({ unit: 'grapheme', maxLength: 10 })
    .filter((one) => !['resource', 'audience'].includes(one))
  const storable = (text: string): boolean => text.isWellFormed() && !/[\0\ufffd]/.test(text)
  const pairs = fc.uniqueArray(fc.tuple(name, fc.string({ unit: 'grapheme', maxLength: 20 })), {
    selector: ([one]) => one,
    maxLength: 20,
  })
  fc.assert(
    fc.property(pairs, (all) => {
      fc.pre(all.flat().every(storable))
      const wire = parseForm(new URLSearchParams(all).toString())
      expect({ ...wire }).toEqual(
        Object.assign(Object.create(null), Object.fromEntries(all.filter(([, value]) => value !== ''))),
      )
    }),
  )
})

test('any text is read or refused as invalid_request, in words that do not quote it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => {
      const { value, error } = attempt(() => parseForm(text))
      const words = /^the parameter(?:s are| [a-z_]+ is)|^there are too many/
      const refused = expect.objectContaining({
        code: 'invalid_request',
        status: 400,
        message: expect.stringMatching(words),
      })
      expect(value ? Object.getPrototypeOf(value) : error).toEqual(value ? null : refused)
    }),
    { numRuns: 1000 },
  )
})

test('an empty text has no parameters, and an empty value is none', () => {
  for (const text of ['', '&', '&&', 'a=', 'a', '=', 'a&b=&&'])
    expect(Object.keys(parseForm(text))).toEqual([])
})

test('a plus and %20 are spaces, and the first equals sign divides', () => {
  expect({ ...parseForm('a+b=c%20d+e&f=g=h&%3D=i') }).toEqual({ 'a b': 'c d e', f: 'g=h', '=': 'i' })
})

test.each(['a=1&a=1', 'a=1&%61=2', 'a=&a=1&a=2', '__proto__=1&__proto__=2'])(
  'a repeated parameter is refused: %s',
  (text) => {
    expect(() => parseForm(text)).toThrow(/is repeated$/)
  },
)

test('a name is told when it looks like one of ours, and never otherwise', () => {
  expect(() => parseForm('grant_type=a&grant_type=b')).toThrow('the parameter grant_type is repeated')
  expect(() => parseForm('<b>=a&<b>=b')).toThrow('the parameter sent is repeated')
})

test('resource and audience may repeat, and are lists even when they do not', () => {
  const wire = parseForm('resource=a&audience=b&resource=a&resource=')
  expect({ ...wire }).toEqual({ resource: ['a', 'a'], audience: ['b'] })
})

test.each(['a=%', 'a=%z1', '%=a', 'a=%ff', 'a=%c0%80', 'a=%ed%a0%80', 'a=%00', '%00=a', 'a=b\0', 'a=\ufffd'])(
  'malformed data is refused: %j',
  (text) => {
    expect(() => parseForm(text)).toThrow('not well-formed form data')
  },
)

test('200 parameters are read, and 201 are not', () => {
  const text = (count: number): string => Array.from({ length: count }, (_, at) => `p${at}=1`).join('&')
  expect(Object.keys(parseForm(text(200)))).toHaveLength(200)
  expect(() => parseForm(text(201))).toThrow('too many parameters')
})

test('names that objects inherit are parameters like others', () => {
  const wire = parseForm('__proto__=a&constructor=b&toString=c')
  expect(Object.entries(wire)).toEqual([
    ['__proto__', 'a'],
    ['constructor', 'b'],
    ['toString', 'c'],
  ])
  expect(parseForm('a=b')['constructor']).toBeUndefined()
})
