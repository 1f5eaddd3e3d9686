/** private_key_jwt (RFC 7523 §2.2, OpenID Connect Core §9): judged by `oauth4webapi` and `openid-client`. */
import { createPrivateKey } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { exportJWK } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as openidClient from 'openid-client'
import { describe, expect, test } from 'vitest'
import {
  ASSERTION_TYPE,
  askWith,
  assertionOf,
  createAssertionKey,
  inSeconds,
  serviceWith,
  type Told,
} from '../../support/client-assertions.ts'
import { forgeriesOf } from '../../support/forged-jwts.ts'
import { signInTo } from '../../support/relying-party.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { requestsTo } from '../../support/requests.ts'
import { ALICE, REDIRECT_URI, SEED } from '../../support/sign-in.ts'

const insecure = { [oauth4webapi.allowInsecureRequests]: true }
const key = await createAssertionKey()
const rsa = await createAssertionKey('rsa', 'RS256')
const service = serviceWith('service', key.jwk)
const web = {
  ...serviceWith('signing web', key.jwk),
  grant_types: undefined,
  redirect_uri: REDIRECT_URI,
  scope: ['read_books'],
}
const fixed = serviceWith('fixed', key.jwk, {
  token_endpoint_auth_signing_alg: 'RS256',
  jwks: { keys: [key.jwk, rsa.jwk] },
})
const held = { ...fixed, client_id: 'held', token_endpoint_auth_signing_alg: undefined }
const secret = { client_id: 'with a secret', client_secret: `lks_${'s'.repeat(43)}`, scope: ['read'] }
const away: ServerResponse[] = []
const host = await startReceiver(({ url }, response) =>
  url === '/jwks' ? response.end(JSON.stringify({ keys: [key.jwk] })) : away.push(response),
)
const origin = `http://127.0.0.1:${host.port}`
const published = serviceWith('published', key.jwk, { jwks: undefined, jwks_uri: `${origin}/jwks` })
const one = await startServer(
  { UNSAFE_OUTBOUND_ORIGINS: origin },
  {
    seed: { ...SEED, clients: [...SEED.clients, service, web, fixed, held, secret, published] },
    extend({ oauth }) {
      oauth.add('assertionRule', {
        name: 'as FAPI 2.0 has it',
        narrow: ({ clientId }) =>
          clientId === 'held' ? { algorithms: ['ES256', 'PS256', 'EdDSA'], issuerAlone: true } : undefined,
      })
    },
  },
)
const issuer = new URL(one.url)
const as = await oauth4webapi.processDiscoveryResponse(
  issuer,
  await oauth4webapi.discoveryRequest(issuer, insecure),
)

const make = async (claims: object = {}, header: object = {}): Promise<string> =>
  assertionOf(key, 'service', one.url, claims, header)
const wordsOf = ({ status, error = '', error_description = '' }: Told): string =>
  `${status} ${error} ${error_description}`.trim()
const ask = async (assertion: string, more: object = {}): Promise<string> =>
  wordsOf(await askWith(assertion, one, more))
const REFUSED = '401 invalid_client client authentication failed'
const REASON = '401 invalid_client the client_assertion is not good: '

test('oauth4webapi gets, introspects and gives back a token by it', async () => {
  const client = { client_id: 'service' }
  const auth = oauth4webapi.PrivateKeyJwt({ key: key.privateKey, kid: 'one' })
  const got = await oauth4webapi.clientCredentialsGrantRequest(as, client, auth, {}, insecure)
  const { access_token } = await oauth4webapi.processClientCredentialsResponse(as, client, got)
  const asked = await oauth4webapi.introspectionRequest(as, client, auth, access_token, insecure)
  expect(await oauth4webapi.processIntrospectionResponse(as, client, asked)).toHaveProperty('active')
  const revoked = await oauth4webapi.revocationRequest(as, client, auth, access_token, insecure)
  await oauth4webapi.processRevocationResponse(revoked)
})

test('openid-client, from the metadata alone, signs somebody in, asks who it is, refreshes and gives back', async () => {
  const auth = openidClient.PrivateKeyJwt({ key: key.privateKey, kid: 'one' })
  const execute = [openidClient.allowInsecureRequests, openidClient.enableNonRepudiationChecks]
  const config = await openidClient.discovery(issuer, 'signing web', undefined, auth, { execute })
  const pkceCodeVerifier = openidClient.randomPKCECodeVerifier()
  const back = await signInTo(config, {
    scope: 'openid email',
    code_challenge: await openidClient.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  const tokens = await openidClient.authorizationCodeGrant(config, back, { pkceCodeVerifier })
  const { sub } = tokens.claims()!
  expect(await openidClient.fetchUserInfo(config, tokens.access_token, sub)).toMatchObject({
    email: ALICE.email,
  })
  const renewed = await openidClient.refreshTokenGrant(config, tokens.refresh_token!)
  await openidClient.tokenRevocation(config, renewed.refresh_token!)
  await expect(openidClient.refreshTokenGrant(config, renewed.refresh_token!)).rejects.toMatchObject({
    error: 'invalid_grant',
  })
})

test('the token endpoint is an audience too, and the client_id may stand beside it', async () => {
  // With the slash of the paths that are served with one.
  for (const aud of [`${one.url}/token`, `${one.url}/token/`])
    expect([aud, await ask(await make({ aud }), { client_id: 'service' })]).toEqual([aud, '200'])
})

test('T6: it ends, and clocks may differ by ten seconds and no more', async () => {
  const at = (ahead: number) => ({ iat: inSeconds(ahead), nbf: inSeconds(ahead) })
  for (const claims of [{ exp: inSeconds(-8) }, at(8), at(-3600)])
    expect([claims, await ask(await make(claims))]).toEqual([claims, '200'])
  const ends = [undefined, inSeconds(-60), 1e300, '9999999999', null]
  for (const claims of [
    ...ends.map((exp) => ({ exp })),
    at(60),
    { nbf: inSeconds(60) },
    { iat: inSeconds(60) },
  ])
    expect([claims, await ask(await make(claims))]).not.toEqual([claims, '200'])
})

describe('what whoever made it can see for themselves is said, whether there is such a client or not', () => {
  test.each([
    ['it has expired', { exp: inSeconds(-300) }, {}],
    ['its exp is more than 3600 seconds ahead', { exp: inSeconds(86_400) }, {}],
    ['it has no exp', { exp: undefined }, {}],
    ['it has no jti', { jti: undefined }, {}],
    ['it has no aud', { aud: undefined }, {}],
    ['its aud is another', { aud: 'https://other.example' }, {}],
    ['its aud is another', { aud: [one.url, 'https://other.example'] }, {}],
    ['its iss is another', { iss: 'other' }, {}],
    ['its sub is no client_id', { sub: undefined }, {}],
    ['its jti is no text, or too long', { jti: 'j'.repeat(600) }, {}],
    ['it has an instant that is no number', { iat: 'yesterday' }, {}],
    ['its nbf is ahead', { nbf: inSeconds(300) }, {}],
    ['its typ is another', {}, { typ: 'dpop+jwt' }],
    ['its header brings a key along', {}, { jwk: key.jwk }],
    ['its header brings a key along', {}, { jku: 'https://other.example/keys' }],
  ])('%s: %j %j', async (reason, claims, header) => {
    for (const clientId of ['service', 'nobody']) {
      const assertion = await assertionOf(key, clientId, one.url, claims, header)
      expect([clientId, await ask(assertion)]).toEqual([clientId, REASON + reason])
    }
    expect(one.output()).toContain(reason)
  })

  test.each([
    ['it is no signed JWT', 'no assertion'],
    ['it is encrypted', 'a.b.c.d.e'],
  ])('%s', async (reason, assertion) => {
    expect(await ask(assertion)).toBe(REASON + reason)
  })

  test('its sub is another than the client_id', async () => {
    expect(await ask(await make(), { client_id: 'other' })).toBe(
      `${REASON}its sub is another than the client_id`,
    )
  })
})

describe('what would tell something of a client is said in the log alone', () => {
  test.each([
    ['the client has no such key', 'service', { kid: 'other' }],
    ['its signature is not good', 'service', {}],
    ['the client has no such key', 'nobody', {}],
    ['the client has no such key', 'with a secret', {}],
    ['its alg is not taken', 'fixed', {}],
  ])('%s: of %s', async (reason, clientId, header) => {
    const stranger = await createAssertionKey()
    const before = one.output().length
    expect(await ask(await assertionOf(stranger, clientId, one.url, {}, header))).toBe(REFUSED)
    expect(one.output().slice(before)).toContain(`"reason":"${reason}"`)
  })

  test('one that was used before', async () => {
    const assertion = await make()
    expect(await ask(assertion)).toBe('200')
    expect(await ask(assertion)).toBe(REFUSED)
    expect(one.output()).toContain('"reason":"it was used before"')
  })
})

test('an answer tells nobody whether a client is there', async () => {
  const stranger = await createAssertionKey()
  const answers = await Promise.all(
    ['service', 'nobody', 'with a secret'].map(async (clientId) => {
      const { statusCode, headers, body } = await one.server.inject({
        method: 'POST',
        url: '/token',
        payload: new URLSearchParams({
          grant_type: 'client_credentials',
          client_assertion: await assertionOf(stranger, clientId, one.url),
          client_assertion_type: ASSERTION_TYPE,
        }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      const { date: _date, 'x-request-id': _id, ...rest } = headers
      return JSON.stringify([statusCode, rest, body])
    }),
  )
  expect(new Set(answers).size).toBe(1)
})

/** One is good that says which of the keys it is signed by, and one that does not. */
const NO_FORGERY = new Set(['no kid'])

test('no forgery of one is taken', async () => {
  const jwk = (await exportJWK(key.privateKey)) as { kty: string }
  const forger = { privateKey: createPrivateKey({ key: jwk, format: 'jwk' }), publicJwk: key.jwk }
  const required = ['iss', 'sub', 'aud', 'exp', 'jti']
  const forgeries = await forgeriesOf(await make(), forger, required)
  for (const [what, forgery] of Object.entries(forgeries)) {
    if (NO_FORGERY.has(what)) continue
    expect([what, await ask(forgery)]).toEqual([what, expect.stringMatching(/^401 invalid_client /)])
  }
  expect(await ask(await make())).toBe('200')
})

describe('token_endpoint_auth_signing_alg', () => {
  test('no other algorithm is good for its client', async () => {
    expect(await ask(await assertionOf(rsa, 'fixed', one.url))).toBe('200')
    expect(await ask(await assertionOf(key, 'fixed', one.url))).toBe(REFUSED)
  })

  test('one that the method does not take is not registered', async () => {
    const refused = { ...service, client_id: 'refused', token_endpoint_auth_signing_alg: 'HS256' }
    await expect(one.server.oauth.clients.create(refused)).rejects.toThrow(
      'token_endpoint_auth_signing_alg must be one of RS256',
    )
  })
})

describe('a client that is held to a rule', () => {
  test('shows an assertion for the issuer alone, by one of its algorithms', async () => {
    expect(await ask(await assertionOf(key, 'held', one.url))).toBe('200')
    expect(await ask(await assertionOf(rsa, 'held', one.url))).toBe(REFUSED)
    for (const aud of [`${one.url}/token`, `${one.url}/token/`, [one.url], [one.url, `${one.url}/token`]])
      expect([aud, await ask(await assertionOf(key, 'held', one.url, { aud }))]).toEqual([aud, REFUSED])
  })

  test('binds nobody else', async () => {
    expect(await ask(await make({ aud: [one.url, `${one.url}/token`] }))).toBe('200')
  })
})

test('while too much is asked of others to read its keys, it comes again later, and that counts as no failure', async () => {
  const askPublished = async () => {
    const client_assertion = await assertionOf(key, 'published', one.url)
    const form = { grant_type: 'client_credentials', client_assertion, client_assertion_type: ASSERTION_TYPE }
    const answer = await one.post('/token', form)
    return `${answer.status} ${answer.headers.has('retry-after')}`
  }
  const asked = Array.from({ length: 10 }, async (_, n) => one.server.oauth.fetch(`${origin}/away/${n}`))
  await expect.poll(() => away.length).toBe(10)
  for (let tries = 0; tries < 25; tries++) expect(await askPublished()).toBe('503 true')
  for (const response of away) response.end()
  await Promise.all(asked)
  expect(await askPublished()).toBe('200 false')
})

test('a registration needs its keys', async () => {
  const { jwks: _jwks, ...keyless } = { ...service, client_id: 'keyless' }
  await expect(one.server.oauth.clients.create(keyless)).rejects.toThrow('needs jwks or jwks_uri')
})

test('left out, it is not advertised, and its clients are refused whatever they show', async () => {
  const PORT = await freePort()
  const settings = { ...one.settings, PORT, WITHOUT: 'latchkey-private-key-jwt' }
  await startServer(settings, { database: one.database })
  const without = requestsTo(`http://127.0.0.1:${PORT}`)
  const metadata = (await (await without.get('/.well-known/openid-configuration')).json()) as {
    token_endpoint_auth_methods_supported: string[]
  }
  expect(metadata.token_endpoint_auth_methods_supported).not.toContain('private_key_jwt')
  expect(wordsOf(await askWith(await make(), without))).toBe(REFUSED)
  const alone = await without.post('/token', { grant_type: 'client_credentials', client_id: 'service' })
  expect(alone.status).toBe(401)
})
