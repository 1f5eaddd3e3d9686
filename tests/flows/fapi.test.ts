/**
 * FAPI 2.0 Security Profile (final) as clients of others speak it: `openid-client`, unmodified, with a pushed request, private_key_jwt and
 * DPoP, at a server that is held to the profile, and as one client among others.
 */
import { randomUUID } from 'node:crypto'
import { exportJWK, importJWK } from 'jose'
import * as openid from 'openid-client'
import { describe, expect, test } from 'vitest'
import { assertionOf, ASSERTION_TYPE, createAssertionKey, inSeconds } from '../support/client-assertions.ts'
import { createDpopKey, type DpopKey, prove } from '../support/dpop.ts'
import { requestObject } from '../support/request-objects.ts'
import { basic } from '../support/requests.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { ALICE, goThrough, REDIRECT_URI, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const key = await createAssertionKey('one', 'PS256')
const weak = await createAssertionKey('weak', 'RS256')
const bank = {
  client_id: 'bank',
  token_endpoint_auth_method: 'private_key_jwt',
  redirect_uris: [REDIRECT_URI],
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  scope: ['read_books'],
  jwks: { keys: [key.jwk, weak.jwk] },
}
const PLAIN = {
  client_id: bank.client_id,
  redirect_uri: REDIRECT_URI,
  response_type: 'code',
  scope: 'openid',
}
const CHALLENGE = {
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
}
const seeded = (clients: readonly object[]) => ({ scopes: [{ name: 'read_books' }], users: [ALICE], clients })
const whole = await startServer({ OIDC_PROFILE: 'fapi-2.0' }, { seed: seeded([bank]) })
const one = await startServer({}, { seed: seeded([...SEED.clients, { ...bank, profile: 'fapi-2.0' }]) })
const SERVERS: [string, TestServer][] = [
  ['the whole server', whole],
  ['one client', one],
]

async function configured(server: TestServer): Promise<openid.Configuration> {
  return openid.discovery(
    new URL(server.url),
    bank.client_id,
    { id_token_signed_response_alg: 'ES256' },
    openid.PrivateKeyJwt({ key: key.privateKey, kid: 'one' }),
    { execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks] },
  )
}

async function signedIn(config: openid.Configuration, DPoP?: openid.DPoPHandle) {
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const parameters = {
    redirect_uri: REDIRECT_URI,
    scope: 'openid read_books',
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: randomUUID(),
  }
  const address = await openid.buildAuthorizationUrlWithPAR(config, parameters, DPoP && { DPoP })
  expect([...address.searchParams.keys()].toSorted()).toEqual(['client_id', 'request_uri'])
  const agent = createUserAgent(config.serverMetadata().issuer)
  const page = await goThrough(agent, await agent.get(address))
  const back = new URL(page.headers.get('location')!)
  return { back, checks: { pkceCodeVerifier, expectedState: parameters.state } }
}

describe.each(SERVERS)('%s', (_what, server) => {
  test('T2: a code, an ID token by an algorithm that lasts, userinfo, and a refresh token that is not rotated', async () => {
    const config = await configured(server)
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'))
    const { back, checks } = await signedIn(config, DPoP)
    const tokens = await openid.authorizationCodeGrant(config, back, checks, undefined, { DPoP })
    expect(tokens.token_type).toBe('dpop')
    const { sub } = tokens.claims()!
    expect(await openid.fetchUserInfo(config, tokens.access_token, sub, { DPoP })).toMatchObject({ sub })
    for (let times = 0; times < 2; times++) {
      const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token!, undefined, { DPoP })
      expect(renewed.refresh_token).toBe(tokens.refresh_token)
    }
  })

  test('a code alone is good for nothing: without a key nobody gets a token', async () => {
    const config = await configured(server)
    const { back, checks } = await signedIn(config)
    const [longest] = await server.database.query(
      `select max(extract(epoch from expires_at - created_at))::int as seconds from authorization_codes`,
    )
    expect(longest).toEqual({ seconds: 60 })
    await expect(openid.authorizationCodeGrant(config, back, checks)).rejects.toMatchObject({
      error: 'invalid_request',
      error_description: expect.stringContaining('must be bound') as string,
    })
    // Nothing was spent by that.
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'))
    const tokens = await openid.authorizationCodeGrant(config, back, checks, undefined, { DPoP })
    expect(tokens.token_type).toBe('dpop')
  })

  test('a request that is not pushed, and one without PKCE, are refused', async () => {
    const agent = createUserAgent(server.url)
    const query = new URLSearchParams({ ...PLAIN, ...CHALLENGE })
    const page = await agent.get(`${server.url}/authorize?${query.toString()}`)
    expect(new URL(page.headers.get('location')!).searchParams.get('error')).toBe('invalid_request')
    const pushed = await server.post('/par', { ...PLAIN, ...(await proof(server)) })
    expect([pushed.status, await pushed.json()]).toEqual([
      400,
      { error: 'invalid_request', error_description: expect.stringContaining('code_challenge') as string },
    ])
  })

  test.each([
    ['RS256', {}, weak],
    ['the token endpoint as its audience', { aud: '/token' }, key],
    ['a list as its audience', { aud: [''] }, key],
    ['the pushed request’s endpoint', { aud: '/par' }, key],
  ])('an assertion with %s is refused', async (_why, { aud }: { aud?: string | string[] }, by) => {
    const absolute = [aud ?? ''].flat().map((path) => server.url + path)
    const audience = Array.isArray(aud) ? absolute : absolute[0]!
    const dpop = await prove(await createDpopKey(), { method: 'POST', url: `${server.url}/token` })
    const client_assertion = await assertionOf(by, bank.client_id, server.url, { aud: audience })
    const told = await server.post(
      '/token',
      { grant_type: 'client_credentials', client_assertion, client_assertion_type: ASSERTION_TYPE },
      { dpop },
    )
    expect(told.status).toBe(401)
  })

  test.each([
    ['as FAPI 2.0 has it', {}, key, 201],
    ['by RS256', {}, weak, 400],
    ['for more than an hour', { exp: inSeconds(3700) }, key, 400],
    ['without an nbf', { nbf: undefined }, key, 400],
  ])('a request object that is signed %s', async (_how, claims, by, status) => {
    const asked = { ...PLAIN, ...CHALLENGE, ...claims }
    const request = await requestObject(by, bank.client_id, server.url, asked)
    const pushed = await server.post('/par', { client_id: bank.client_id, request, ...(await proof(server)) })
    expect(pushed.status).toBe(status)
  })

  const asksWith = async (dpopKey: DpopKey) =>
    server.post(
      '/token',
      { grant_type: 'client_credentials', ...(await proof(server)) },
      { dpop: await prove(dpopKey, { method: 'POST', url: `${server.url}/token` }) },
    )

  test.each(['ES384', 'ES512', 'PS384', 'PS512'])('a proof by %s is refused (§5.4.1)', async (algorithm) => {
    const dpopKey = await createDpopKey(algorithm)
    expect(await (await asksWith(dpopKey)).json()).toMatchObject({ error: 'invalid_dpop_proof' })
    const pushed = await server.post(
      '/par',
      { ...PLAIN, ...CHALLENGE, ...(await proof(server)) },
      { dpop: await prove(dpopKey, { method: 'POST', url: `${server.url}/par` }) },
    )
    expect(await pushed.json()).toMatchObject({ error: 'invalid_dpop_proof' })
  })

  test.each(['ES256', 'PS256', 'Ed25519'])('a proof by %s is taken', async (algorithm) => {
    expect((await asksWith(await createDpopKey(algorithm))).status).toBe(200)
  })

  test('a key that could sign by another algorithm does not, where its token is shown', async () => {
    const dpopKey = await createDpopKey('PS256')
    const { access_token: token } = (await (await asksWith(dpopKey)).json()) as { access_token: string }
    const privateKey = (await importJWK(await exportJWK(dpopKey.privateKey), 'PS512')) as CryptoKey
    const refusalBy = async (by: DpopKey) => {
      const dpop = await prove(by, { method: 'GET', url: `${server.url}/userinfo`, token })
      const response = await server.get('/userinfo', { authorization: `DPoP ${token}`, dpop })
      return /error="([^"]+)"/.exec(response.headers.get('www-authenticate')!)?.[1]
    }
    expect(await refusalBy({ ...dpopKey, algorithm: 'PS512', privateKey })).toBe('invalid_dpop_proof')
    // Of a token that is for no user.
    expect(await refusalBy(dpopKey)).not.toBe('invalid_dpop_proof')
  })

  test('a client that could not be held to it is not registered', async () => {
    const { clients } = server.server.oauth
    const fapi = { ...bank, client_id: randomUUID(), profile: 'fapi-2.0' }
    for (const [member, value] of [
      ['token_endpoint_auth_method', 'client_secret_basic'],
      ['redirect_uris', ['http://127.0.0.1/callback']],
      ['response_types', ['code id_token']],
      ['grant_types', ['authorization_code', 'implicit']],
      ['id_token_signed_response_alg', 'RS256'],
      ['token_endpoint_auth_signing_alg', 'RS256'],
      ['authorization_code_lifetime', 61],
      ['require_bound_access_tokens', false],
      ['access_token_in_query', true],
      ['require_pushed_authorization_requests', false],
    ] as const)
      await expect(clients.create({ ...fapi, [member]: value })).rejects.toThrow(member)
  })
})

/** Of the client, for a request by hand. */
async function proof(server: TestServer): Promise<Record<string, string>> {
  const client_assertion = await assertionOf(key, bank.client_id, server.url)
  return { client_assertion, client_assertion_type: ASSERTION_TYPE }
}

test('proofs of other clients may be by any algorithm', async () => {
  const dpop = await prove(await createDpopKey('ES512'), { method: 'POST', url: `${one.url}/token` })
  const headers = { ...basic(WEB.client_id, WEB.client_secret), dpop }
  expect((await one.post('/token', { grant_type: 'client_credentials' }, headers)).status).toBe(200)
})

test('the server offers no more than its clients may use', async () => {
  const offered = (await (await whole.get('/.well-known/openid-configuration')).json()) as Record<
    string,
    unknown
  >
  expect(offered).toMatchObject({
    require_pushed_authorization_requests: true,
    response_types_supported: ['code'],
    token_endpoint_auth_signing_alg_values_supported: expect.not.arrayContaining(['RS256']) as string[],
    id_token_signing_alg_values_supported: expect.not.arrayContaining(['RS256']) as string[],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    dpop_signing_alg_values_supported: ['ES256', 'Ed25519', 'EdDSA', 'PS256'],
  })
  expect(offered['token_endpoint_auth_methods_supported']).not.toContain('client_secret_basic')
  expect(offered['request_object_signing_alg_values_supported']).not.toContain('none')
  // The grant is never allowed, so there is nowhere to begin with it.
  expect(offered['grant_types_supported']).not.toContain('urn:ietf:params:oauth:grant-type:device_code')
  expect(offered).not.toHaveProperty('device_authorization_endpoint')
  const resource = await whole.get('/.well-known/oauth-protected-resource')
  expect(await resource.json()).toMatchObject({
    dpop_signing_alg_values_supported: offered['dpop_signing_alg_values_supported'],
  })
  const { headers } = await whole.get('/userinfo')
  expect(headers.get('www-authenticate')).toContain('algs="ES256 Ed25519 EdDSA PS256"')
})
