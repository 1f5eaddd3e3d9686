/** What real clients refuse to work without in the metadata and the key set; each demand was seen, or read in its source. */
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { createClient } from '../support/clients.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { authorize, getTokens, SEED } from '../support/sign-in.ts'

const OIDC = '/.well-known/openid-configuration'
const OAUTH = '/.well-known/oauth-authorization-server'
const server = await startServer({}, { seed: SEED })
const metadata = (await (await server.get(OIDC)).json()) as Record<string, unknown>

test.each([
  [
    'oauth4webapi, auth-core, go-oidc, omniauth, rust-openidconnect, mcp-client-2: the exact issuer',
    'issuer',
  ],
  ['omniauth, rust-openidconnect', 'id_token_signing_alg_values_supported'],
  ['auth-core, omniauth', 'userinfo_endpoint'],
  ['openid-client-6', 'code_challenge_methods_supported'],
  ['express-openid-connect, spring-security', 'end_session_endpoint'],
  ['mod_auth_openidc', 'introspection_endpoint'],
])('%s: %s', (_client, member) => {
  const expected = {
    issuer: server.url,
    id_token_signing_alg_values_supported: expect.arrayContaining(['RS256']) as string[],
    userinfo_endpoint: `${server.url}/userinfo`,
    code_challenge_methods_supported: ['S256'],
    end_session_endpoint: `${server.url}/end-session`,
    introspection_endpoint: `${server.url}/introspect`,
  }
  expect(metadata[member]).toEqual(expected[member as keyof typeof expected])
})

test('oauth4webapi: iss is promised, and is in every answer, errors too', async () => {
  expect(metadata['authorization_response_iss_parameter_supported']).toBe(true)
  const answers = [
    { scope: 'openid' },
    { scope: 'openid', prompt: 'none' },
    { response_type: 'token' },
    { scope: undefined },
    { scope: 'openid', request: 'x' },
  ].map(async (asked) => authorize(server, asked))
  for (const answer of await Promise.all(answers)) expect(answer.get('iss')).toBe(server.url)
})

describe('an issuer with a path', () => {
  test.each([
    ['authlib, mcp clients: RFC 8414', (origin: string, path: string) => origin + OAUTH + path],
    [
      'authlib, mcp clients: RFC 8414 for OpenID Connect',
      (origin: string, path: string) => origin + OIDC + path,
    ],
    ['everybody: OpenID Connect Discovery', (origin: string, path: string) => origin + path + OIDC],
  ])('%s', async (_client, address) => {
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    const below = await startServer({ PORT: port, OIDC_ISSUER: `${origin}/auth` })
    const response = await below.get(address(origin, '/auth'))
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toMatchObject({ issuer: `${origin}/auth` })
    await below.close()
  })
})

test('mod_auth_openidc, authlib, PyJWT, omniauth: every JWK has a kid, whatever algorithms are in use', async () => {
  for (const alg of metadata['id_token_signing_alg_values_supported'] as string[])
    await createClient(server, { redirect_uri: 'https://app.example/', id_token_signed_response_alg: alg })
  const keys = async () => ((await (await server.get('/jwks')).json()) as { keys: { kid?: string }[] }).keys
  await expect.poll(async () => (await keys()).length).toBeGreaterThanOrEqual(4)
  const kids = (await keys()).map(({ kid }) => kid)
  expect(kids.every((kid) => typeof kid === 'string' && kid !== '')).toBe(true)
  expect(new Set(kids).size).toBe(kids.length)
})

test('mcp-sdk-1: members are absent rather than null, in whatever we send', async () => {
  const tokens = await getTokens(server, { scope: 'openid profile email address phone' })
  const userinfo = await server.get(`/userinfo?access_token=${tokens.access_token}`)
  const sent = [
    metadata,
    tokens,
    await userinfo.json(),
    decodeJwt(tokens.id_token),
    decodeJwt(tokens.access_token),
  ]
  for (const one of sent) expect(JSON.stringify(one)).not.toContain('null')
})

test.each([OIDC, OAUTH, '/jwks'])(
  'mcp-browser: a preflight with mcp-protocol-version at %s',
  async (path) => {
    const response = await server.request(path, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://inspector.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'mcp-protocol-version',
      },
    })
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-headers')).toContain('mcp-protocol-version')
  },
)
