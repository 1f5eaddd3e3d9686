/** Request objects that are encrypted to the server (RFC 9101 section 6.1): by jose, to the key that the server publishes. */
import { createSecretKey } from 'node:crypto'
import { CompactEncrypt, generateKeyPair, importJWK, type JWK, UnsecuredJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import {
  CONTENT_ENCRYPTION,
  createDecryptionKeys,
  KEY_MANAGEMENT,
} from '../../../../src/services/keys/decryption-keys.ts'
import { createAssertionKey } from '../../../support/client-assertions.ts'
import { addressOf, INSIDE, requestObject, signingApp } from '../../../support/request-objects.ts'
import { basic, requestsTo } from '../../../support/requests.ts'
import { startServer } from '../../../support/server.ts'
import { SEED, WEB } from '../../../support/sign-in.ts'

const key = await createAssertionKey()
const settings = { OIDC_REQUEST_OBJECT_ENCRYPTION: true }
const clients = [
  signingApp('app', key, {
    request_object_encryption_alg: 'ECDH-ES',
    request_object_encryption_enc: 'A256GCM',
  }),
]
const server = await startServer(settings, { seed: { ...SEED, clients } })
const two = await startServer({ ...server.settings, PORT: 0 }, { database: server.database })
const beside = requestsTo(two.server.listeningOrigin)

const keysAt = async (at: Pick<typeof server, 'get'>): Promise<JWK[]> =>
  ((await (await at.get('/jwks')).json()) as { keys: JWK[] }).keys
const jwk = (await keysAt(server)).find(({ use }) => use === 'enc')!

interface How {
  readonly alg?: string
  readonly enc?: string
  readonly to?: JWK | CryptoKey | Uint8Array
  readonly kid?: string | undefined
}

async function encrypt(
  text: string,
  { alg = 'ECDH-ES', enc = 'A256GCM', to = jwk, ...how }: How = {},
): Promise<string> {
  const recipient = 'kty' in to ? await importJWK(to, alg) : (to as CryptoKey)
  const kid = 'kid' in how ? how.kid : jwk.kid
  return new CompactEncrypt(Buffer.from(text))
    .setProtectedHeader({ alg, enc, cty: 'JWT', ...(kid === undefined ? {} : { kid }) })
    .encrypt(recipient)
}

/** `sign-in`, or the error on a page. */
async function told(request: string, at: Pick<typeof server, 'get'> = server): Promise<string> {
  const response = await at.get(addressOf('app', { request }))
  const body = await response.text()
  return response.headers.has('location') ? 'sign-in' : `${/id="error-code">([^<]*)/.exec(body)?.[1]}`
}
const signed = async (claims: object = {}): Promise<string> => requestObject(key, 'app', server.url, claims)

test('the key is published once, the same at each process, public, and in the metadata', async () => {
  expect(jwk).toEqual({ kty: 'EC', crv: 'P-256', x: jwk.x, y: jwk.y, kid: jwk.kid, use: 'enc' })
  expect(await keysAt(beside)).toEqual(await keysAt(server))
  expect(await (await server.get('/.well-known/openid-configuration')).json()).toMatchObject({
    request_object_encryption_alg_values_supported: KEY_MANAGEMENT,
    request_object_encryption_enc_values_supported: CONTENT_ENCRYPTION,
  })
})

describe.each(KEY_MANAGEMENT)('%s', (alg) => {
  test.each(CONTENT_ENCRYPTION)('with %s is read, at either process', async (enc) => {
    const request = await encrypt(await signed(), { alg, enc })
    expect([await told(request), await told(request, beside)]).toEqual(['sign-in', 'sign-in'])
  })
})

test('also without a kid, and pushed', async () => {
  expect(await told(await encrypt(await signed(), { kid: undefined }))).toBe('sign-in')
  const request = await encrypt(await signed())
  const pushed = await server.post('/par', { request }, basic('app', WEB.client_secret))
  expect(pushed.status).toBe(201)
})

test('what is inside is judged as any', async () => {
  const inside: [string, string][] = [
    ['another client', await signed({ client_id: 'web' })],
    ['another encrypted one', await encrypt(await signed())],
    ['no JWT', 'hello'],
    ['nothing', ''],
    ['no text', '\u{1f600}'],
    ['an unsigned one', new UnsecuredJWT({ client_id: 'app', ...INSIDE }).encode()],
  ]
  for (const [what, text] of inside) {
    const error = what === 'an unsigned one' ? 'request_not_supported' : 'invalid_request_object'
    expect([what, await told(await encrypt(text))]).toEqual([what, error])
  }
})

test('nothing else is decrypted', async () => {
  const rsa = await generateKeyPair('RSA-OAEP-256')
  const { publicKey: other } = await generateKeyPair('ECDH-ES')
  const text = await signed()
  const good = await encrypt(text)
  const [header, wrapped, iv, content, tag] = good.split('.') as [string, string, string, string, string]
  const withHeader = (members: object): string => {
    const had = JSON.parse(Buffer.from(header, 'base64url').toString()) as object
    return [Buffer.from(JSON.stringify({ ...had, ...members })).toString('base64url'), wrapped, iv, content, tag].join('.')
  }
  for (const [what, request] of Object.entries({
    'to another key': await encrypt(text, { to: other }),
    'to a kid that is not ours': await encrypt(text, { kid: 'other' }),
    'by RSA': await encrypt(text, { alg: 'RSA-OAEP-256', to: rsa.publicKey }),
    'by a shared secret': await encrypt(text, { alg: 'dir', enc: 'A256GCM', to: new Uint8Array(32) }),
    'by a password': await encrypt(text, { alg: 'PBES2-HS256+A128KW', to: new TextEncoder().encode('x'.repeat(16)) }),
    'by an algorithm that is not offered': await encrypt(text, { alg: 'ECDH-ES+A192KW' }),
    'with content that is not offered': await encrypt(text, { enc: 'A192GCM' }),
    compressed: withHeader({ zip: 'DEF' }),
    'with what is critical': withHeader({ crit: ['exp'], exp: 1 }),
    'with a point that is on no curve': withHeader({ epk: { kty: 'EC', crv: 'P-256', x: jwk.x, y: jwk.x } }),
    'with a point of another curve': withHeader({ epk: { kty: 'OKP', crv: 'X25519', x: jwk.x } }),
    'with no point': withHeader({ epk: null }),
    'with another tag': [header, wrapped, iv, content, Buffer.alloc(16).toString('base64url')].join('.'),
    'with a short tag': [header, wrapped, iv, content, tag.slice(0, 4)].join('.'),
    'with no content': [header, wrapped, iv, '', tag].join('.'),
    'five parts of nothing': '....',
  }))
    expect([what, await told(request)]).toEqual([what, 'invalid_request_object'])
  expect(server.output()).not.toMatch(/"level":(?:50|60)/)
}) // prettier-ignore

test('where nobody asked for it there is no such key, and an encrypted request is refused', async () => {
  const plain = await startServer({}, { seed: { ...SEED, clients } })
  expect((await keysAt(plain)).filter(({ use }) => use === 'enc')).toEqual([])
  expect(await told(await encrypt(await signed()), plain)).toBe('invalid_request_object')
  const metadata = await (await plain.get('/.well-known/openid-configuration')).json()
  expect(metadata).not.toHaveProperty('request_object_encryption_alg_values_supported')
})

test('a key is followed by another after 90 days, and is good for as long again', async () => {
  const secret = createSecretKey(Buffer.alloc(32, 7))
  const DAY = 86_400_000
  let now = 90 * DAY * 200
  const [keys, ahead] = [createDecryptionKeys(secret, () => now), createDecryptionKeys(secret, () => now + 1)]
  const first = keys.publicJwk()
  const sealed = await encrypt('a request', { to: first, kid: first.kid })
  expect(await keys.decrypt(sealed)).toBe('a request')
  now += 90 * DAY - 1
  expect(keys.publicJwk()).toEqual(first)
  const next = ahead.publicJwk()
  expect(next).not.toEqual(first)
  expect(await keys.decrypt(await encrypt('of a clock ahead', { to: next, kid: next.kid }))).toBe('of a clock ahead')
  now += 90 * DAY
  expect(keys.publicJwk()).toEqual(next)
  expect(await keys.decrypt(sealed)).toBe('a request')
  now += 1
  await expect(keys.decrypt(sealed)).rejects.toThrow('another key')
  expect(createDecryptionKeys(createSecretKey(Buffer.alloc(32, 8)), () => now).publicJwk()).not.toEqual(keys.publicJwk())
}) // prettier-ignore
