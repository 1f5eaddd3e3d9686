import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isBasic, parseBasic } from '../../src/protocol/basic-credentials.ts'
import { basic } from '../support/requests.ts'

const header = (text: string | Uint8Array): string => `Basic ${Buffer.from(text).toString('base64')}`

test('id and secret that were form-encoded first are among the readings, and the first of them', () => {
  const text = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
    .filter((one) => one.isWellFormed() && !one.includes('\0'))
  fc.assert(
    fc.property(text, text, (clientId, clientSecret) => {
      expect(parseBasic(basic(clientId, clientSecret).authorization)[0]).toEqual({ clientId, clientSecret })
    }),
  )
})

test('id and secret as they are, with a colon in the secret at most, are among the readings too', () => {
  const text = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(
      text.filter((one) => !one.includes(':')),
      text,
      (clientId, clientSecret) => {
        expect(parseBasic(header(`${clientId}:${clientSecret}`))).toContainEqual({ clientId, clientSecret })
      },
    ),
  )
})

test('any header gives readings with an id, or none', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.uint8Array().map((bytes) => header(bytes)),
      ),
      (value) => {
        for (const { clientId, clientSecret } of parseBasic(value))
          expect((clientId + clientSecret).includes('\0') || clientId === '').toBe(false)
      },
    ),
    { numRuns: 500 },
  )
})

test('what has no percent sign and no plus has one reading', () => {
  expect(parseBasic(header('a:b:c'))).toEqual([{ clientId: 'a', clientSecret: 'b:c' }])
  expect(parseBasic(header('a:b+c'))).toEqual([
    { clientId: 'a', clientSecret: 'b c' },
    { clientId: 'a', clientSecret: 'b+c' },
  ])
  expect(parseBasic(header('a:50%'))).toEqual([{ clientId: 'a', clientSecret: '50%' }])
  expect(parseBasic(header('a:%00'))).toEqual([{ clientId: 'a', clientSecret: '%00' }])
})

test('an empty secret is a secret, an empty id is none', () => {
  expect(parseBasic(header('a:'))).toEqual([{ clientId: 'a', clientSecret: '' }])
  expect(parseBasic(header(':a'))).toEqual([])
})

test.each([
  'Basic',
  'Basic ',
  'Basic !!!!',
  'Basic YTpi=',
  'Basic YTp',
  'Basic YT pi',
  'Basic YTpi\n YTpi',
  'Basic _-_-',
  header('ab'),
  header('a\0:b'),
  header(new Uint8Array([0xff, 0x3a])),
])('what is no strict base64 of UTF-8 with a colon has no reading: %j', (value) => {
  expect(parseBasic(value)).toEqual([])
})

test('the scheme is known in any case, and by a whole word', () => {
  for (const value of ['Basic YTpi', 'BASIC YTpi', 'basic', 'bAsIc ']) expect(isBasic(value)).toBe(true)
  for (const value of [undefined, '', 'Bearer a', 'Basically a', ' Basic a', 'Basic\ta'])
    expect(isBasic(value)).toBe(false)
})
