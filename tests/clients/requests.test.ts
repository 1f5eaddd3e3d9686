/** What real clients send that is not in the specifications, or not as one would expect, and have to be answered. */
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { createClient } from '../support/clients.ts'
import { exchangeAs, refreshAs } from '../support/code-flow.ts'
import { basic, bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { authorize, exchange, getTokens, REDIRECT_URI, refresh, SEED, WEB } from '../support/sign-in.ts'

const server = await startServer({}, { seed: SEED })
const credentials = basic(WEB.client_id, WEB.client_secret)
const SCOPE = 'openid email read_books'

async function getCode(parameters: Record<string, string> = {}): Promise<string> {
  return (await authorize(server, { scope: SCOPE, ...parameters })).get('code')!
}

describe('scope at refresh', () => {
  test('requests-oauthlib, oidc-client-ts, authlib, oidc-agent: the granted ones are repeated', async () => {
    const { refresh_token, scope } = await getTokens(server, { scope: SCOPE })
    const response = await refresh(server, refresh_token, { scope })
    expect([response.status, await response.json()]).toMatchObject([200, { scope: SCOPE }])
  })

  test('mod_auth_openidc: those first asked for are repeated, and what was dropped is dropped again', async () => {
    const asked = `${SCOPE} not_for_this_client`
    const tokens = await getTokens(server, { scope: asked })
    expect(tokens.scope).toBe(SCOPE)
    let { refresh_token } = tokens
    for (let times = 0; times < 2; times++) {
      const response = await refresh(server, refresh_token, { scope: asked })
      const renewed = (await response.json()) as { refresh_token: string }
      expect([response.status, renewed]).toMatchObject([200, { scope: SCOPE }])
      ;({ refresh_token } = renewed)
    }
  })
})

test('mod_auth_openidc: both tokens are revoked at logout, in either order', async () => {
  for (const order of [
    ['access_token', 'refresh_token'] as const,
    ['refresh_token', 'access_token'] as const,
  ]) {
    const tokens = await getTokens(server, { scope: SCOPE })
    for (const kind of order) {
      const form = { token: tokens[kind], token_type_hint: kind }
      expect((await server.post('/revoke', form, credentials)).status).toBe(200)
    }
    expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(401)
  }
})

describe('at the token endpoint', () => {
  test('go x/oauth2: Basic, then after a first 401 the body: the code is still good, and nobody is throttled', async () => {
    const client = await createClient(server, {
      redirect_uri: REDIRECT_URI,
      token_endpoint_auth_method: 'client_secret_post',
    })
    const { clientId: client_id, clientSecret: client_secret } = client
    for (let logins = 0; logins < 25; logins++) {
      const code = await getCode({ client_id, scope: 'openid' })
      expect((await exchangeAs(server, client, code)).status).toBe(401)
      const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
      expect((await server.post('/token', { ...form, client_id, client_secret })).status).toBe(200)
    }
  })

  test('oidc-agent: Basic and the same client_id in the body is one method', async () => {
    const { client_id } = WEB
    expect((await exchange(server, await getCode(), { client_id })).status).toBe(200)
  })

  test.each([
    ['oidc-agent: response_type', { response_type: 'token' }],
    ['omniauth: scope with the code', { scope: 'openid profile something_else' }],
    ['everybody: what nobody knows', { client_info: '1', 'x-client-sku': 'msal.js' }],
  ])('%s is ignored', async (_client, more) => {
    const response = await exchange(server, await getCode(), more)
    expect([response.status, await response.json()]).toMatchObject([200, { scope: SCOPE }])
  })

  test('oidc-agent: Accept: */*, as any other Accept', async () => {
    for (const accept of ['*/*', 'application/json', 'text/html']) {
      const form = { grant_type: 'client_credentials' }
      const response = await server.post('/token', form, { ...credentials, accept })
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
    }
  })

  test('passport-openidconnect: the secret in the body, neither PKCE nor nonce', async () => {
    const { client_id, client_secret } = WEB
    const form = { grant_type: 'authorization_code', redirect_uri: REDIRECT_URI, client_id, client_secret }
    const response = await server.post('/token', { ...form, code: await getCode() })
    const { id_token } = (await response.json()) as { id_token: string }
    expect(decodeJwt(id_token)).not.toHaveProperty('nonce')
  })
})

describe('at the authorization endpoint', () => {
  test.each([
    ['oidc-agent: access_type', { access_type: 'offline' }],
    ['spring-security, msal: what nobody knows', { client_request_id: 'x', 'x-client-ver': '3' }],
    ['auth-core, google clients: include_granted_scopes', { include_granted_scopes: 'true' }],
  ])('%s is ignored', async (_client, more) => {
    expect(await getCode(more as Record<string, string>)).toBeTruthy()
  })

  test('oidc-agent: application_type web with an http address of localhost, on any port', async () => {
    const metadata = { application_type: 'web', redirect_uris: ['http://localhost:4242'] }
    const { clientId } = await createClient(server, metadata)
    const asked = { client_id: clientId, redirect_uri: 'http://localhost:8080' }
    expect((await authorize(server, asked)).get('code')).toBeTruthy()
  })

  test('mcp-client-2: offline_access and prompt=consent, as we advertise the scope', async () => {
    const client = await createClient(server, { redirect_uri: REDIRECT_URI })
    const asked = { client_id: client.clientId, scope: 'openid offline_access', prompt: 'consent' }
    const { tokens } = await exchangeAs(server, client, await getCode(asked))
    expect(tokens.scope).toBe('openid offline_access')
    expect((await refreshAs(server, client, tokens.refresh_token)).status).toBe(200)
  })
})
