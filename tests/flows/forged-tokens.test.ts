import { createHmac, createPublicKey } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { beforeAll, expect, test } from 'vitest'
import { type TestClient, createClient, getToken, introspect, statusWith } from '../support/clients.ts'
import { refusal } from '../support/refusals.ts'
import { bearer } from '../support/requests.ts'
import { type TestServer, startServer } from '../support/server.ts'

let server: TestServer
let client: TestClient
let other: TestClient
let good: string
let opaque: string

beforeAll(async () => {
  const settings = { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false }
  server = await startServer(settings, {
    extend: (app) => app.get('/read', { config: { scope: 'read' } }, async () => ({})),
  })
  client = await createClient(server, { scope: ['read'] })
  other = await createClient(server, { scope: ['read'], access_token_format: 'opaque' })
  good = (await getToken(server, client)).access_token
  opaque = (await getToken(server, other)).access_token
})

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const parts = (token: string): [string, string, string] => token.split('.') as [string, string, string]
const decode = (part: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(part, 'base64url').toString())

/** What the server's own key would sign, with other members: the strongest forger there is. */
function signed(header: Record<string, unknown>, claims: Record<string, unknown> = {}): Promise<string> {
  const key = server.server.oauth.keys.signer('ES256')
  const [head, body] = parts(good)
  return new SignJWT({ ...decode(body), jti: crypto.randomUUID(), ...claims })
    .setProtectedHeader({ ...decode(head), ...header } as { alg: string })
    .sign(key.privateKey, { crit: { 'urn:example:must': true } })
}

async function forgeries(): Promise<Record<string, string>> {
  const [head, body, signature] = parts(good)
  const { kid } = decode(head) as { kid: string }
  const { publicJwk } = server.server.oauth.keys.signer('ES256')
  const pem = createPublicKey({ key: publicJwk, format: 'jwk' }).export({
    type: 'spki',
    format: 'pem',
  })
  const withHeader = (members: object, sign = signature): string =>
    [encode({ ...decode(head), ...members }), body, sign].join('.')
  const hmac = (secret: string | Buffer): string => {
    const input = `${encode({ ...decode(head), alg: 'HS256' })}.${body}`
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }
  const mine = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(mine.publicKey)
  const byMine = (header: object, claims: object = {}): Promise<string> =>
    new SignJWT({ ...decode(body), ...claims })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid, ...header })
      .sign(mine.privateKey)
  return {
    'alg none': withHeader({ alg: 'none' }, ''),
    'alg none with a signature': withHeader({ alg: 'none' }),
    'alg NONE': withHeader({ alg: 'NONE' }, ''),
    'no alg': withHeader({ alg: undefined }),
    'HS256 keyed by the public key as PEM': hmac(pem),
    'HS256 keyed by the public key as JWK': hmac(JSON.stringify(publicJwk)),
    'HS256 keyed by nothing': hmac(''),
    'another algorithm under our kid': withHeader({ alg: 'ES384' }),
    'signed by somebody else under our kid': await byMine({}),
    'an embedded jwk': await byMine({ jwk }),
    'an embedded jwk without kid': await byMine({ jwk, kid: undefined }),
    'a jku': await byMine({ jku: 'https://evil.example/jwks' }),
    'a token of another issuer': await byMine({ kid: 'theirs' }, { iss: 'https://other.example' }),
    'an unknown kid': await signed({ kid: 'unknown' }),
    'no kid': await signed({ kid: undefined }),
    'kid __proto__': withHeader({ kid: '__proto__' }),
    'kid a number': withHeader({ kid: 1 }),
    'kid a path': withHeader({ kid: '../../etc/passwd' }),
    'typ JWT': await signed({ typ: 'JWT' }),
    'typ absent': await signed({ typ: undefined }),
    'typ logout+jwt': await signed({ typ: 'logout+jwt' }),
    crit: await signed({ crit: ['urn:example:must'], 'urn:example:must': 1 }),
    'crit empty': withHeader({ crit: [] }),
    'crit of a registered name': withHeader({ crit: ['exp'], exp: 1 }),
    'b64 false': withHeader({ b64: false, crit: ['b64'] }),
    'our key, another iss': await signed({}, { iss: 'https://other.example' }),
    'our key, iss with a slash': await signed({}, { iss: `${server.url}/` }),
    'our key, an unknown client': await signed({}, { client_id: 'nobody' }),
    'our key, no client_id': await signed({}, { client_id: undefined }),
    'our key, no jti': await signed({}, { jti: undefined }),
    'our key, no exp': await signed({}, { exp: undefined }),
    'our key, exp a text': await signed({}, { exp: '9999999999' }),
    'our key, exp past': await signed({}, { exp: 1 }),
    'our key, exp beyond safe integers': await signed({}, { exp: 1e300 }),
    'our key, an Authorization that is not there': await signed(
      {},
      { authorization_id: crypto.randomUUID() },
    ),
    'the payload changed': [head, encode({ ...decode(body), scope: 'read admin' }), signature].join('.'),
    'the header of another': [encode({ alg: 'ES256' }), body, signature].join('.'),
    'no signature': `${head}.${body}.`,
    'two parts': `${head}.${body}`,
    'four parts': `${good}.${signature}`,
    'five parts': `${good}.${body}.${signature}`,
    'cut by one': good.slice(0, -1),
    'cut in half': good.slice(0, good.length / 2),
    'zeros for a signature': `${head}.${body}.${encode('\0'.repeat(64))}`,
    'DER for a signature': `${head}.${body}.${encode(Buffer.from(signature, 'base64url').toString('latin1'))}`,
    'a payload that is no JSON': `${head}.${encode('hello')}.${signature}`,
    'a header that is null': `${encode('null')}.${body}.${signature}`,
    'a header of brackets': `${encode('['.repeat(3000))}.${body}.${signature}`,
    'a refresh of dots': '.'.repeat(5000),
    'an opaque token that is none': `lka_${'A'.repeat(43)}`,
    'the prefix alone': 'lka_',
    'the prefix in upper case': opaque.replace('lka_', 'LKA_'),
    'an opaque token without prefix': opaque.slice(4),
    'an opaque token cut': opaque.slice(0, -1),
    'an opaque token with one more': `${opaque}A`,
    'an opaque token with another first character': `lka_${opaque[4] === 'A' ? 'B' : 'A'}${opaque.slice(5)}`,
    'a JWT under the prefix': `lka_${good}`,
    'another prefix': opaque.replace('lka_', 'lks_'),
  }
}

test('the tokens that are forged here are good as they are', async () => {
  const resigned = await signed({})
  for (const token of [good, opaque, resigned]) {
    const owner = token === opaque ? other : client
    expect(await introspect(server, owner, token)).toMatchObject({ active: true })
    expect(await statusWith(server, '/read', token)).toBe(200)
  }
})

test('no forged token is active, opens a route, or can be revoked', async () => {
  for (const [name, token] of Object.entries(await forgeries())) {
    for (const caller of [client, other])
      expect([name, await introspect(server, caller, token)]).toEqual([name, { active: false }])
    const response = await server.get('/read', bearer(token))
    const { error } = (await response.json()) as { error: string }
    expect([name, response.status, error]).toEqual([name, 401, 'invalid_token'])
    const revoked = await server.post('/revoke', { token }, client.basic)
    expect([name, revoked.status >= 200 && revoked.status < 500]).toEqual([name, true])
  }
  expect(await introspect(server, client, good)).toMatchObject({ active: true })
  expect(await introspect(server, other, opaque)).toMatchObject({ active: true })
  expect(server.output()).not.toContain('"level":"error"')
})

test('one flipped bit anywhere makes a token worthless', async () => {
  // Also where the last character of a signature carries bits that stand for nothing (RFC 4648 §3.5).
  for (const token of [good, opaque]) {
    for (let at = 0; at < token.length; at++) {
      const flipped = String.fromCodePoint(token.codePointAt(at)! ^ 1)
      const changed = token.slice(0, at) + flipped + token.slice(at + 1)
      expect([at, await server.server.oauth.verify(changed)]).toEqual([at, null])
    }
  }
})

test('what has not even the characters of a token is malformed at a route, and inactive', async () => {
  for (const token of [`${good} x`, `${good}"`, `${opaque}\t${opaque}`, '%2e%2e', 'a,b']) {
    expect(await introspect(server, client, token)).toEqual({ active: false })
    const response = await server.get('/read', bearer(token))
    expect([token.slice(-5), response.status]).toEqual([token.slice(-5), 400])
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_request"')
  }
})

test('a token of ours for another audience is known, and opens nothing here', async () => {
  await server.server.oauth.resources.saveResource({ resource: 'https://elsewhere.example' })
  await server.server.oauth.resources.saveScope({ name: 'far', resource: 'https://elsewhere.example' })
  const far = await createClient(server, { scope: ['far', 'read'] })
  const { access_token } = await getToken(server, far, { scope: 'far' })
  expect(await introspect(server, far, access_token)).toMatchObject({ active: true })
  expect(await statusWith(server, '/read', access_token)).toBe(401)
})

test('a stranger may not revoke a token, and whoever may not know learns nothing', async () => {
  const stranger = await createClient(server, { scope: ['read'] })
  const refused = server.post('/revoke', { token: good }, stranger.basic)
  expect(await refusal(refused)).toEqual([400, 'invalid_grant'])
  expect(await introspect(server, stranger, good)).toEqual({ active: false })
  expect(await introspect(server, client, good)).toMatchObject({ active: true })
})
