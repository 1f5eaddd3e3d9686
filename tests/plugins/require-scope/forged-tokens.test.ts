import { createHmac } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { expect, test } from 'vitest'
import type { TestIssuer } from '../../../plugins/require-scope/testing.ts'
import { bearer, challenge, startApp, startIssuer } from './support.ts'

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const part = (token: string, index: number): string => token.split('.')[index] ?? ''
const header = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(part(token, 0), 'base64url').toString())

/** The token with another header, and its old signature. */
function withHeader(token: string, members: Record<string, unknown>): string {
  return [encode({ ...header(token), ...members }), part(token, 1), part(token, 2)].join('.')
}

async function forgeries(issuer: TestIssuer): Promise<Record<string, string>> {
  const good = await issuer.token()
  const [payload, signature] = [part(good, 1), part(good, 2)]
  const { keys } = (await (await fetch(`${issuer.url}/jwks`)).json()) as { keys: [{ kid: string }] }
  const hmac = (secret: string): string => {
    const input = `${encode({ ...header(good), alg: 'HS256' })}.${payload}`
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }
  const mine = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(mine.publicKey)
  const signedByMine = (members: Record<string, unknown>): Promise<string> =>
    new SignJWT(JSON.parse(Buffer.from(payload, 'base64url').toString()))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: keys[0].kid, ...members })
      .sign(mine.privateKey)
  const json = Buffer.from(payload, 'base64url').toString()
  return {
    'alg none': `${encode({ ...header(good), alg: 'none' })}.${payload}.`,
    'alg none with a signature': withHeader(good, { alg: 'none' }),
    'alg nOnE': withHeader(good, { alg: 'nOnE' }),
    'no alg': withHeader(good, { alg: undefined }),
    'alg not a string': withHeader(good, { alg: ['ES256'] }),
    'HS256 keyed by the public JWK': hmac(JSON.stringify(keys[0])),
    'HS256 keyed by nothing': hmac(''),
    'another algorithm than the key has': withHeader(good, { alg: 'ES384' }),
    'signed by somebody else': await issuer.forge(),
    'embedded jwk': await signedByMine({ jwk }),
    'embedded jwk without kid': await signedByMine({ jwk, kid: undefined }),
    jku: await signedByMine({ jku: `${issuer.url}/jwks` }),
    'x5u and x5c': await signedByMine({ x5u: 'https://evil.example', x5c: ['MIIB'] }),
    'no kid': await issuer.token({ header: { kid: undefined } }),
    'kid not a string': withHeader(good, { kid: 1 }),
    'kid empty': await issuer.token({ header: { kid: '' } }),
    'kid huge': withHeader(good, { kid: 'k'.repeat(600) }),
    'kid __proto__': withHeader(good, { kid: '__proto__' }),
    crit: withHeader(good, { crit: ['exp'] }),
    'crit empty': withHeader(good, { crit: [] }),
    'unencoded payload': withHeader(good, { b64: false, crit: ['b64'] }),
    'typ JWT': await issuer.token({ header: { typ: 'JWT' } }),
    'typ absent': await issuer.token({ header: { typ: undefined } }),
    'typ logout+jwt': await issuer.token({ header: { typ: 'logout+jwt' } }),
    'typ dpop+jwt': await issuer.token({ header: { typ: 'dpop+jwt' } }),
    'typ not a string': withHeader(good, { typ: 1 }),
    'an ID token': await issuer.token({
      header: { typ: 'JWT' },
      claims: { client_id: undefined, jti: undefined, nonce: 'n', at_hash: 'h' },
    }),
    'payload changed': [part(good, 0), encode(json.replace('test-user', 'root')), signature].join('.'),
    'signature cut': good.slice(0, -4),
    'signature empty': `${part(good, 0)}.${payload}.`,
    'signature of zeros': `${part(good, 0)}.${payload}.${encode('\0'.repeat(64))}`,
    'member repeated in the header': `${encode('{"alg":"ES256","alg":"ES256","typ":"at+jwt","kid":"x"}')}.${payload}.${signature}`,
    'member repeated in the payload': `${part(good, 0)}.${encode(json.replace('{', '{"sub":"root",'))}.${signature}`,
    'iss of an object member': await issuer.token({ claims: { iss: 'toString' } }),
    'iss with a slash more': await issuer.token({ claims: { iss: `${issuer.url}/` } }),
    'iss in upper case': await issuer.token({ claims: { iss: issuer.url.toUpperCase() } }),
    'iss a list': await issuer.token({ claims: { iss: [issuer.url] } }),
    'another issuer': await issuer.token({ claims: { iss: 'https://evil.example' } }),
    'a JWE': `${good}.${payload}.${signature}`,
    'two segments': `${part(good, 0)}.${payload}`,
    'one segment': 'abc',
    'payload not JSON': `${part(good, 0)}.${encode('hello')}.${signature}`,
    'payload a list': `${part(good, 0)}.${encode([1])}.${signature}`,
    'payload null': `${part(good, 0)}.${encode('null')}.${signature}`,
    'header null': `${encode('null')}.${payload}.${signature}`,
    'payload not UTF-8': `${part(good, 0)}.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.${signature}`,
    'payload with a byte order mark': `${part(good, 0)}.${encode(`\uFEFF${json}`)}.${signature}`,
    'brackets without end': `${part(good, 0)}.${encode(`${'['.repeat(5000)}${']'.repeat(5000)}`)}.${signature}`,
    'nested deep': `${part(good, 0)}.${encode(`{"a":${'['.repeat(5500)}${']'.repeat(5500)}}`)}.${signature}`,
    'padding in a segment': `${part(good, 0)}=.${payload}.${signature}`,
    'other alphabet in a segment': `${part(good, 0)}.${payload}+/.${signature}`,
  }
}

test('no forged token passes, and each gets 401 invalid_token', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  const before = { ...issuer.requests }
  for (const [name, token] of Object.entries(await forgeries(issuer))) {
    const { statusCode, headers } = await app.inject({ url: '/any', headers: bearer(token) })
    const { error } = challenge(headers['www-authenticate'])
    expect([name, statusCode, error]).toEqual([name, 401, 'invalid_token'])
  }
  expect(issuer.requests.jwks - before.jwks).toBeLessThanOrEqual(4)
})

test('what no signature could make good is refused before the signature is looked at', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  const all = await forgeries(issuer)
  const table = {
    crit: 'The token has a critical header that is not understood',
    'crit empty': 'The token has a critical header that is not understood',
    'member repeated in the header': 'The token repeats a member',
    'member repeated in the payload': 'The token repeats a member',
    'payload with a byte order mark': 'The token is not a signed JWT',
    'payload not UTF-8': 'The token is not a signed JWT',
    'alg none with a signature': 'The token is signed by an algorithm that is not accepted',
    'HS256 keyed by the public JWK': 'The token is signed by an algorithm that is not accepted',
  }
  for (const [name, description] of Object.entries(table)) {
    const response = await app.inject({ url: '/any', headers: bearer(all[name] ?? '') })
    expect([name, response.json().error_description]).toEqual([name, description])
  }
})

test('a claim of RFC 9068 that is missing or malformed is refused', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  const now = Math.floor(Date.now() / 1000)
  const required = ['iss', 'aud', 'exp', 'iat', 'sub', 'client_id', 'jti']
  const bad: Record<string, unknown>[] = [
    ...required.map((name) => ({ [name]: undefined })),
    ...required.map((name) => ({ [name]: null })),
    ...required.map((name) => ({ [name]: {} })),
    ...['sub', 'client_id', 'jti'].flatMap((name) => [{ [name]: '' }, { [name]: 7 }]),
    ...['exp', 'iat', 'nbf'].flatMap((name) => [{ [name]: '1' }, { [name]: -1 }, { [name]: 1e300 }]),
    { aud: [] },
    { aud: [issuer.url, 1] },
    { scope: ['read_books'] },
    { scope: 1 },
    { iat: now + 60 },
    { nbf: now + 60 },
    { exp: now - 1 },
    { exp: now - 0.5 },
  ]
  for (const claims of bad) {
    const { statusCode, body } = await app.inject({
      url: '/any',
      headers: bearer(await issuer.token({ claims })),
    })
    expect([JSON.stringify(claims), statusCode, body]).toEqual([
      JSON.stringify(claims),
      401,
      expect.stringContaining('invalid_token'),
    ])
  }
  for (const claims of [
    { iat: now + 8 },
    { nbf: now + 8 },
    { nbf: now },
    { nbf: now - 0.5 },
    { exp: now + 99.5 },
  ]) {
    const { statusCode } = await app.inject({ url: '/any', headers: bearer(await issuer.token({ claims })) })
    expect([claims, statusCode]).toEqual([claims, 200])
  }
})

test('a token longer than 16 KiB is refused before anything is done with it', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  const big = await issuer.token({ claims: { padding: 'x'.repeat(13_000) } })
  const response = await app.inject({ url: '/any', headers: bearer(big) })
  expect([big.length > 16_384, response.statusCode]).toEqual([true, 401])
  const fits = await issuer.token({ claims: { padding: 'x'.repeat(11_000) } })
  expect((await app.inject({ url: '/any', headers: bearer(fits) })).statusCode).toBe(200)
})

test('names that objects inherit, and texts that look like members, are ordinary content', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  const odd = {
    '": "': '":',
    a: [{ b: '{"a":1,"a":2}', ':c': '\\"' }, { b: 1 }],
    constructor: 'x',
    toString: null,
  }
  const claims = JSON.parse(`{"odd":${JSON.stringify(odd)},"deep":{"__proto__":{"polluted":true}}}`)
  const response = await app.inject({ url: '/any', headers: bearer(await issuer.token({ claims })) })
  expect(response.statusCode).toBe(200)
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
})

test('every asymmetric algorithm that is offered works, and application/at+jwt is a type too', async () => {
  for (const algorithm of ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'PS256', 'RS256', 'RS512']) {
    const issuer = await startIssuer({ algorithm })
    const app = await startApp({ issuer: issuer.url })
    const token = await issuer.token({ header: { typ: 'application/AT+JWT' } })
    expect([algorithm, (await app.inject({ url: '/any', headers: bearer(token) })).statusCode]).toEqual([
      algorithm,
      200,
    ])
    const forged = await app.inject({ url: '/any', headers: bearer(await issuer.forge()) })
    expect(forged.statusCode).toBe(401)
  }
})

test("an issuer's list of algorithms is kept to", async () => {
  const issuer = await startIssuer({ algorithm: 'RS256' })
  const app = await startApp({ issuer: { issuer: issuer.url, algorithms: ['ES256', 'PS256'] } })
  expect((await app.inject({ url: '/any', headers: bearer(await issuer.token()) })).statusCode).toBe(401)
})

test('a token that was good is checked again: its expiry, and whether its signature belongs to it', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  const token = await issuer.token()
  const [last] = token.slice(-1)
  const statusOf = async (value: string): Promise<number> =>
    (await app.inject({ url: '/any', headers: bearer(value) })).statusCode
  expect(await statusOf(token)).toBe(200)
  expect(await statusOf(token)).toBe(200)
  expect(await statusOf(`${token.slice(0, -8)}AAAAAAA${last}`)).toBe(401)
})
