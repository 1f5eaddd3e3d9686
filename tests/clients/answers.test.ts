/** What real clients demand of token, revocation, userinfo and logout answers. */
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { describe, expect, test } from 'vitest'
import { basic, bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { ALICE, authorize, getTokens, REDIRECT_URI, refresh, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const server = await startServer({}, {
  seed: { ...SEED, clients: [{ ...WEB, post_logout_redirect_uris: ['https://app.example'] }] },
}) // prettier-ignore
const credentials = basic(WEB.client_id, WEB.client_secret)
const SCOPE = 'openid profile email read_books'

async function everyTokenAnswer(): Promise<Response[]> {
  const code = (await authorize(server, { scope: SCOPE })).get('code')!
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
  const exchanged = await server.post('/token', exchange, credentials)
  const { refresh_token } = (await exchanged.clone().json()) as { refresh_token: string }
  const service = await server.post('/token', { grant_type: 'client_credentials' }, credentials)
  return [exchanged, await refresh(server, refresh_token), service]
}

test('express-openid-connect, rust-openidconnect, omniauth, requests-oauthlib: token_type, and expires_in as a number', async () => {
  for (const response of await everyTokenAnswer()) {
    expect(response.status).toBe(200)
    const body = (await response.json()) as Record<string, unknown>
    expect(String(body['token_type']).toLowerCase()).toBe('bearer')
    expect(body['expires_in']).toBeTypeOf('number')
  }
})

test('oauth4webapi, @fastify/oauth2: token answers are application/json, refusals too', async () => {
  const refused = await server.post('/token', { grant_type: 'refresh_token' }, credentials)
  for (const { headers } of [...(await everyTokenAnswer()), refused])
    expect(headers.get('content-type')).toBe('application/json')
})

test('requests-oauthlib: scope in the answer is the one that was asked for', async () => {
  expect((await getTokens(server, { scope: SCOPE })).scope).toBe(SCOPE)
})

describe('@fastify/oauth2, oidc-client-ts, simple-oauth2: a revocation answers {} as application/json', () => {
  test.each(['access_token', 'refresh_token', 'one that is nobody’s'])('%s', async (kind) => {
    const tokens = await getTokens(server, { scope: SCOPE })
    const token = { ...tokens }[kind] ?? 'unknown'
    const form = { token: String(token), token_type_hint: kind }
    const response = await server.post('/revoke', form, { ...credentials, origin: 'https://spa.example' })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(await response.text()).toBe('{}')
  })
})

describe('oidc-client-ts: CORS', () => {
  test.each([
    ['/userinfo', 'GET', 'authorization'],
    ['/token', 'POST', 'dpop'],
    ['/revoke', 'POST', 'authorization'],
  ])('a preflight at %s for %s with %s', async (path, method, name) => {
    const { status, headers } = await server.request(path, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://spa.example',
        'access-control-request-method': method,
        'access-control-request-headers': name,
      },
    })
    expect([status, headers.get('access-control-allow-origin')]).toEqual([204, '*'])
    expect(headers.get('access-control-allow-headers')).toContain(name)
  })

  test('on errors too, with the headers that tell why', async () => {
    const origin = { origin: 'https://spa.example' }
    const refused = [
      server.get('/userinfo', { ...origin, ...bearer('nonsense') }),
      server.post('/token', { grant_type: 'refresh_token' }, origin),
    ]
    for (const { status, headers } of await Promise.all(refused)) {
      expect([status, headers.get('access-control-allow-origin')]).toEqual([401, '*'])
      expect(headers.get('access-control-expose-headers')).toBe('DPoP-Nonce, WWW-Authenticate')
    }
  })
})

test('rust-openidconnect: email_verified is a boolean, and times are numbers', async () => {
  const tokens = await getTokens(server, { scope: SCOPE, max_age: '60' })
  const userinfo = (await (await server.get('/userinfo', bearer(tokens.access_token))).json()) as object
  expect(userinfo).toMatchObject({ email_verified: true })
  const { email_verified, exp, iat, auth_time } = decodeJwt(tokens.id_token)
  expect(email_verified).toBe(true)
  for (const time of [exp, iat, auth_time]) expect(time).toBeTypeOf('number')
})

test('auth-core, passport-openidconnect: name and email are in the ID token, since nothing else is read', async () => {
  const { id_token } = await getTokens(server, { scope: SCOPE })
  expect(decodeJwt(id_token)).toMatchObject({ name: ALICE.name, email: ALICE.email })
})

test('openid-client-5, spring-security, express-openid-connect: ID tokens by RS256, unless registered otherwise', async () => {
  const { id_token, refresh_token } = await getTokens(server, { scope: SCOPE })
  const renewed = (await (await refresh(server, refresh_token)).json()) as { id_token: string }
  for (const jwt of [id_token, renewed.id_token]) expect(decodeProtectedHeader(jwt).alg).toBe('RS256')
})

test("openid-client-5: userinfo's sub is the ID token's", async () => {
  const { id_token, access_token } = await getTokens(server, { scope: SCOPE })
  const userinfo = await server.get('/userinfo', bearer(access_token))
  expect(((await userinfo.json()) as { sub: string }).sub).toBe(decodeJwt(id_token).sub)
})

test('express-openid-connect: a post-logout address without a slash at the end is kept as it is', async () => {
  const agent = createUserAgent(server.url)
  const { id_token } = await getTokens(server, { scope: SCOPE }, agent)
  const query = { id_token_hint: id_token, post_logout_redirect_uri: 'https://app.example' }
  const page = await agent.get(`${server.url}/end-session?${new URLSearchParams(query).toString()}`)
  expect(page.headers.get('location')).toBe('https://app.example')
})
