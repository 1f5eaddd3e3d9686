/** What a JWK set of somebody else's may hold, and which of its keys an algorithm takes. */
import { generateKeyPairSync } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { expect, test } from 'vitest'
import { fits, parseJwkSet } from '../../src/protocol/jwk-set.ts'

const publicKey = async (alg: string, members: object = {}, options = {}): Promise<JWK> => ({
  ...(await exportJWK((await generateKeyPair(alg, { extractable: true, ...options })).publicKey)),
  ...members,
})
const ofRsa = (modulusLength: number, publicExponent = 65_537): JWK =>
  generateKeyPairSync('rsa', { modulusLength, publicExponent }).publicKey.export({ format: 'jwk' })

const ec = await publicKey('ES256')
const rsa = await publicKey('RS256')
const priv = await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey)

test('every kind of key that is known is read, with what it is for', async () => {
  const keys = [
    { ...ec, kid: 'a', use: 'sig', alg: 'ES256' },
    { ...rsa, kid: 'b' },
    await publicKey('EdDSA', { kid: 'c', alg: 'EdDSA' }),
    await publicKey('ECDH-ES', { kid: 'd', use: 'enc' }, { crv: 'X25519' }),
    await publicKey('ES512', { key_ops: ['verify'] }),
  ]
  const read = parseJwkSet({ keys })
  expect(read.map(({ kid, use, alg }) => [kid, use, alg])).toEqual([
    ['a', 'sig', 'ES256'],
    ['b', undefined, undefined],
    ['c', undefined, 'EdDSA'],
    ['d', 'enc', undefined],
    [undefined, 'sig', undefined],
  ])
  const algorithms = [
    'ES256',
    'ES512',
    'RS256',
    'PS256',
    'EdDSA',
    'Ed25519',
    'RSA-OAEP-256',
    'ECDH-ES',
    'HS256',
    'none',
  ]
  expect(read.map((key) => algorithms.filter((algorithm) => fits(key, algorithm)))).toEqual([
    ['ES256'],
    ['RS256', 'PS256', 'RSA-OAEP-256'],
    ['EdDSA', 'Ed25519'],
    ['ECDH-ES'],
    ['ES512'],
  ])
})

test.each<[string, object]>([
  ['of a type that is not known', { kty: 'AKP', alg: 'ML-DSA-44', pub: 'AAAA' }],
  ['of a curve that is not known', { kty: 'EC', crv: 'secp256k1', x: 'AAAA', y: 'AAAA' }],
  ['for an algorithm that is not known', { ...rsa, alg: 'RSA1_5' }],
  ['for another use', { ...rsa, use: 'archive' }],
  ['for other operations', { ...rsa, key_ops: ['sign'] }],
])('a key %s is passed over', (_what, key) => {
  expect(parseJwkSet({ keys: [key, { ...ec, kid: 'known' }] }).map(({ kid }) => kid)).toEqual(['known'])
})

test.each<[string, unknown, string]>([
  ['nothing', undefined, 'must be a JWK set'],
  ['a list', [ec], 'must be a JWK set'],
  ['keys that are no objects', { keys: [null] }, 'must be a JWK set'],
  ['too many', { keys: Array.from({ length: 21 }, () => ec) }, 'more than 20 keys'],
  [
    'one kid twice',
    {
      keys: [
        { ...ec, kid: 'a' },
        { ...rsa, kid: 'a' },
      ],
    },
    'two keys with one kid',
  ],
  ['a kid that is a number', { keys: [{ ...ec, kid: 1 }] }, 'a kid that is no text'],
  ['a key without a type', { keys: [{ crv: 'P-256' }] }, 'without kty'],
  ['a private key', { keys: [priv] }, 'public keys alone'],
  [
    'a private key of a type that is not known',
    { keys: [{ kty: 'AKP', priv: 'AAAA' }] },
    'public keys alone',
  ],
  ['a shared secret', { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] }, 'public keys alone'],
  ['an alg of another type', { keys: [{ ...rsa, alg: 'ES256' }] }, 'alg is not one of its kty'],
  ['an alg of another curve', { keys: [{ ...ec, alg: 'ES384' }] }, 'alg is not one of its kty'],
  ['an alg that is no text', { keys: [{ ...ec, alg: 7 }] }, 'alg is not one of its kty'],
  ['a point off the curve', { keys: [{ ...ec, y: ec.x }] }, 'a key that is none'],
  ['members that are missing', { keys: [{ kty: 'RSA', e: 'AQAB' }] }, 'a key that is none'],
  ['an RSA key that is short', { keys: [ofRsa(1024)] }, 'fewer than 2048 bits'],
  [
    'an RSA key that is a burden',
    { keys: [{ kty: 'RSA', e: 'AQAB', n: 'w'.repeat(2732) }] },
    'more than 8192',
  ],
  ['an RSA exponent of one', { keys: [{ ...rsa, e: 'AQ' }] }, 'a key that is none'],
])('%s is refused', (_what, document, problem) => {
  expect(() => parseJwkSet(document)).toThrow(problem)
})
