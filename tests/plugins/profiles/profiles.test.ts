/** Profiles: what they lock of clients and of the server, also of clients that were there before, and how a plugin brings one of its own. */
import { describe, expect, test } from 'vitest'
import { createClient } from '../../support/clients.ts'
import { bearer, requestsTo } from '../../support/requests.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { codesOf, exchangeAs } from '../../support/code-flow.ts'
import { toClient } from '../../support/service.ts'
import {
  answerOf,
  authorizationUrl,
  createPkce,
  getTokens,
  goThrough,
  REDIRECT_URI,
  SEED,
  WEB,
} from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'
import { isThere, rowsWith } from '../../support/left-out.ts'

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const PKCE = { code_challenge: CHALLENGE, code_challenge_method: 'S256' }

const PROFILES = [
  'fapi-2.0',
  ...rowsWith('latchkey-fapi-ciba', ['fapi-ciba']),
  'oauth-2.1',
  ...rowsWith('latchkey-mcp', ['mcp']),
].join(', ')

const metadataOf = async (server: TestServer): Promise<Record<string, unknown>> =>
  (await (await server.get('/.well-known/openid-configuration')).json()) as Record<string, unknown>

async function errorAt(server: TestServer, parameters: Record<string, string>): Promise<string | null> {
  const agent = createUserAgent(server.url)
  return answerOf(await goThrough(agent, await agent.get(authorizationUrl(server, parameters)))).get('error')
}

describe('oauth-2.1', () => {
  test('of the server: PKCE is needed of every app, and nothing else is offered than the code', async () => {
    const server = await startServer({ OIDC_PROFILE: 'oauth-2.1' }, { seed: SEED })
    expect(await errorAt(server, {})).toBe('invalid_request')
    expect(await errorAt(server, PKCE)).toBeNull()
    expect(server.output()).toMatch(/OIDC_PROFILE oauth-2\.1 locks of every client require_pkce=true; /)
    await expect(createClient(server, { redirect_uri: REDIRECT_URI, require_pkce: false })).rejects.toThrow(
      'require_pkce must be true: the profile oauth-2.1 needs it',
    )
    const { headers } = await server.get('/userinfo?access_token=unread')
    expect(headers.get('www-authenticate')).not.toContain('error=')
    const offered = await metadataOf(server)
    expect(offered['response_types_supported']).toEqual(['code'])
    expect(offered['grant_types_supported']).not.toContain('implicit')
  })

  test('of one client: others go on as before', async () => {
    const server = await startServer({}, { seed: SEED })
    const { clientId } = await createClient(server, { redirect_uri: REDIRECT_URI, profile: 'oauth-2.1' })
    expect(await errorAt(server, { client_id: clientId })).toBe('invalid_request')
    expect(await errorAt(server, { client_id: clientId, ...PKCE })).toBeNull()
    expect(await errorAt(server, {})).toBeNull()
    await expect(createClient(server, { redirect_uri: REDIRECT_URI, profile: 'fapi-1' })).rejects.toThrow(
      `profile must be one of ${PROFILES}`,
    )
  })
})

test('the access token of a client under a profile is not taken from an address', async () => {
  const profiles = ['oauth-2.1', ...rowsWith('latchkey-mcp', ['mcp'])]
  const clients = profiles.map((profile) => ({ ...WEB, client_id: profile, profile }))
  const server = await startServer({}, { seed: { ...SEED, clients: [WEB, ...clients] } })
  const { verifier, challenge } = createPkce()
  for (const client of [WEB, ...clients]) {
    const asked = { client_id: client.client_id, code_challenge: challenge, code_challenge_method: 'S256' }
    const code = await codesOf(server)(asked)
    const { tokens } = await exchangeAs(server, toClient(client), code, { code_verifier: verifier })
    const response = await server.get(`/userinfo?access_token=${tokens.access_token}`)
    const told = (await response.json()) as { error?: string }
    expect([response.status, told.error]).toEqual(
      client === WEB ? [200, undefined] : [400, 'invalid_request'],
    )
    expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(200)
    expect((await server.post('/userinfo', { access_token: tokens.access_token })).status).toBe(200)
  }
})

describe.runIf(isThere('latchkey-mcp', 'latchkey-client-documents'))('mcp', () => {
  test('of the server: documents are taken, PKCE is needed, and a request without a scope gets what its client may have', async () => {
    const server = await startServer({ OIDC_PROFILE: 'mcp' }, { seed: SEED })
    expect(server.output()).toMatch(/OIDC_PROFILE mcp locks of every client require_pkce=true; /)
    expect(server.output()).toMatch('OIDC_PROFILE mcp: OIDC_CLIENT_METADATA_DOCUMENTS is any.')
    expect(await metadataOf(server)).toMatchObject({
      client_id_metadata_document_supported: true,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      response_types_supported: ['code'],
    })
    expect(await errorAt(server, {})).toBe('invalid_request')
    const agent = createUserAgent(server.url)
    const { scope: _scope, ...asked } = Object.fromEntries(
      new URL(authorizationUrl(server, PKCE)).searchParams,
    )
    const page = await agent.get(`${server.url}/authorize?${new URLSearchParams(asked).toString()}`)
    const consent = await agent.submit(page, 'login', {
      username: 'alice',
      password: 'correct horse battery staple',
    })
    expect(consent.body).toContain('Read your books')
    expect(answerOf(await goThrough(agent, consent)).get('code')).toBeTruthy()
  })

  test('a setting of its own says whose documents count; without the plugin it must be off', async () => {
    const server = await startServer(
      { OIDC_PROFILE: 'mcp', OIDC_CLIENT_METADATA_DOCUMENTS: 'off' },
      { seed: SEED },
    )
    expect((await metadataOf(server))['client_id_metadata_document_supported']).toBeUndefined()
    const WITHOUT = 'latchkey-client-documents'
    await expect(startServer({ OIDC_PROFILE: 'mcp', WITHOUT })).rejects.toThrow(
      `OIDC_PROFILE mcp needs ${WITHOUT}`,
    )
  })
})

describe('a start', () => {
  test.each([
    [
      { OIDC_PROFILE: 'fapi-1' },
      `OIDC_PROFILE names fapi-1, which no plugin serves; those that are served: ${PROFILES}.`,
    ],
    [
      { OIDC_PROFILE: 'oauth-2.1', WITHOUT: 'latchkey-oauth-2.1' },
      'OIDC_PROFILE names oauth-2.1, which no plugin serves',
    ],
    [
      { OIDC_PROFILE: 'fapi-2.0', OIDC_CODE_EXPIRE: 61 },
      'OIDC_CODE_EXPIRE must be 60 at most: OIDC_PROFILE fapi-2.0 needs it.',
    ],
    [
      { OIDC_PROFILE: 'fapi-2.0', OIDC_IMPLICIT: true },
      'OIDC_IMPLICIT must be false: OIDC_PROFILE fapi-2.0 needs it.',
    ],
    [
      { OIDC_PROFILE: 'oauth-2.1', OIDC_CODE_EXPIRE: 601 },
      'OIDC_CODE_EXPIRE must be 600 at most: OIDC_PROFILE oauth-2.1 needs it.',
    ],
    [
      { OIDC_PROFILE: 'fapi-2.0', WITHOUT: 'latchkey-par' },
      'OIDC_PROFILE fapi-2.0 needs latchkey-par, which is left out.',
    ],
    [
      { OIDC_PROFILE: 'fapi-2.0', WITHOUT: 'latchkey-dpop' },
      'OIDC_PROFILE fapi-2.0 needs latchkey-dpop, which is left out.',
    ],
  ])('with %j is refused in one sentence', async (settings, sentence) => {
    await expect(startServer(settings)).rejects.toThrow(sentence)
  })

  test('with a SEED_FILE whose client contradicts the profile is refused by its name', async () => {
    await expect(startServer({ OIDC_PROFILE: 'fapi-2.0' }, { seed: SEED })).rejects.toThrow(
      /token_endpoint_auth_method must be one of private_key_jwt, .*: the profile fapi-2\.0 needs it/,
    )
  })
})

test('a client that was there before the profile, and contradicts it, may do nothing, and is told why', async () => {
  const before = await startServer({}, { seed: SEED })
  const { clientId, basic } = await createClient(before, { scope: ['read'], redirect_uri: REDIRECT_URI })
  const { PORT: _port, OIDC_ISSUER: _issuer, SEED_FILE: _seed, ...settings } = before.settings
  const server = await startServer({ ...settings, OIDC_PROFILE: 'fapi-2.0' }, { database: before.database })
  const told = await server.post('/token', { grant_type: 'client_credentials' }, basic)
  expect([told.status, await told.json()]).toEqual([
    400,
    {
      error: 'unauthorized_client',
      error_description: expect.stringContaining('token_endpoint_auth_method must be one of') as string,
    },
  ])
  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server, { client_id: clientId }))
  expect(answerOf(page).get('error')).toBe('unauthorized_client')
  // And here it works as it did.
  expect((await before.post('/token', { grant_type: 'client_credentials' }, basic)).status).toBe(200)
})

test('who introspects is a client too, and tokens from before are good until they end', async () => {
  const before = await startServer({}, { seed: SEED })
  const { access_token: token } = await getTokens(before)
  const { basic } = await createClient(before, { scope: ['token_introspection'] })
  const { PORT: _port, SEED_FILE: _seed, ...settings } = before.settings
  const { server } = await startServer(
    { ...settings, PORT: 0, OIDC_PROFILE: 'fapi-2.0' },
    { database: before.database },
  )
  const beside = requestsTo(server.listeningOrigin)
  const told = await beside.post('/introspect', { token }, basic)
  expect(await told.json()).toMatchObject({ error: 'unauthorized_client' })
  expect((await beside.get('/userinfo', bearer(token))).status).toBe(200)
})

test('a number that is locked is the most that it may be', async () => {
  const server = await startServer({}, { seed: SEED })
  const of = async (authorization_code_lifetime: number) =>
    createClient(server, { redirect_uri: REDIRECT_URI, profile: 'oauth-2.1', authorization_code_lifetime })
  const { clientId } = await of(1)
  expect((await server.server.oauth.findClient(clientId))?.metadata).toMatchObject({
    authorization_code_lifetime: 1,
    require_pkce: true,
  })
  await expect(of(601)).rejects.toThrow('authorization_code_lifetime')
})

test('a plugin brings a profile of its own', async () => {
  const server = await startServer(
    {},
    {
      seed: SEED,
      extend: ({ oauth }) =>
        oauth.register('profile', 'of-our-house', {
          locks: { require_pkce: true },
          choices: { subject_type: { among: ['pairwise'], fallback: 'pairwise' } },
        }),
    },
  )
  const { clientId } = await createClient(server, { redirect_uri: REDIRECT_URI, profile: 'of-our-house' })
  expect((await server.server.oauth.findClient(clientId))?.metadata).toMatchObject({
    require_pkce: true,
    subject_type: 'pairwise',
  })
  await expect(
    createClient(server, { redirect_uri: REDIRECT_URI, profile: 'of-our-house', subject_type: 'public' }),
  ).rejects.toThrow('subject_type must be one of pairwise: the profile of-our-house needs it')
})
