import { SignJWT } from 'jose'
import { beforeAll, expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { type TestClient, createClient, getToken, introspect, statusWith } from '../support/clients.ts'
import { decode, encode, forgeriesOf } from '../support/forged-jwts.ts'
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

const parts = (token: string): [string, string, string] => token.split('.') as [string, string, string]

/** What the server's own key would sign, with other members: the strongest forger there is. */
function signed(header: Record<string, unknown>, claims: Record<string, unknown> = {}): Promise<string> {
  const key = kernelOf(server.server).keys.signer('ES256')
  const [head, body] = parts(good)
  return new SignJWT({ ...decode(body), jti: crypto.randomUUID(), ...claims })
    .setProtectedHeader({ ...decode(head), ...header } as { alg: string })
    .sign(key.privateKey!, { crit: { 'urn:example:must': true } })
}

async function forgeries(): Promise<Record<string, string>> {
  const [head, body, signature] = parts(good)
  const withHeader = (members: object): string =>
    [encode({ ...decode(head), ...members }), body, signature].join('.')
  const key = kernelOf(server.server).keys.signer('ES256')
  return {
    ...(await forgeriesOf(good, key, ['client_id', 'jti', 'exp', 'iat', 'sub', 'iss'])),
    'no alg': withHeader({ alg: undefined }),
    'another algorithm under our kid': withHeader({ alg: 'ES384' }),
    'kid __proto__': withHeader({ kid: '__proto__' }),
    'kid a number': withHeader({ kid: 1 }),
    'kid a path': withHeader({ kid: '../../etc/passwd' }),
    'typ JWT': await signed({ typ: 'JWT' }),
    'typ absent': await signed({ typ: undefined }),
    'crit empty': withHeader({ crit: [] }),
    'crit of a registered name': withHeader({ crit: ['exp'], exp: 1 }),
    'our key, an unknown client': await signed({}, { client_id: 'nobody' }),
    'our key, exp past': await signed({}, { exp: 1 }),
    'our key, exp beyond safe integers': await signed({}, { exp: 1e300 }),
    'our key, an Authorization that is not there': await signed(
      {},
      { authorization_id: crypto.randomUUID() },
    ),
    'the payload changed': [head, encode({ ...decode(body), scope: 'read admin' }), signature].join('.'),
    'the header of another': [encode({ alg: 'ES256' }), body, signature].join('.'),
    'four parts': `${good}.${signature}`,
    'cut in half': good.slice(0, good.length / 2),
    'DER for a signature': `${head}.${body}.${encode(Buffer.from(signature, 'base64url').toString('latin1'))}`,
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

test('what has not even the characters of a token is no better at a route, and inactive', async () => {
  for (const token of [`${good} x`, `${good}"`, `${opaque}\t${opaque}`, '%2e%2e', 'a,b']) {
    expect(await introspect(server, client, token)).toEqual({ active: false })
    const response = await server.get('/read', bearer(token))
    expect([token.slice(-5), response.status]).toEqual([token.slice(-5), 401])
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"')
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
