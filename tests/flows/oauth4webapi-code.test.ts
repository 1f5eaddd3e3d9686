/** A login as `oauth4webapi`, unmodified, does it and checks it: the strictest reader of our answers. */
import * as oauth from 'oauth4webapi'
import { beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../support/clients.ts'
import { startServer } from '../support/server.ts'
import { ALICE, goThrough, REDIRECT_URI, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'

/** The server of a test has no TLS. */
const insecure = { [oauth.allowInsecureRequests]: true }
const server = await startServer({}, { seed: SEED })
let as: oauth.AuthorizationServer

beforeAll(async () => {
  const issuer = new URL(server.url)
  as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure))
})

interface App {
  client: oauth.Client
  auth: oauth.ClientAuth
}

async function createApp(metadata: Record<string, unknown> = {}): Promise<App> {
  const { clientId, clientSecret } = await createClient(server, { redirect_uri: REDIRECT_URI, ...metadata })
  const isPublic = metadata['token_endpoint_auth_method'] === 'none'
  const auth = isPublic ? oauth.None() : oauth.ClientSecretPost(clientSecret)
  return { client: { client_id: clientId, ...metadata }, auth }
}

/** What the browser shows or where it is sent, once the user has signed in and allowed. */
async function visit(
  { client }: App,
  asked: Record<string, string>,
  agent: UserAgent = createUserAgent(server.url),
): Promise<Page> {
  const all = { client_id: client.client_id, redirect_uri: REDIRECT_URI, response_type: 'code', ...asked }
  const url = `${as.authorization_endpoint}?${new URLSearchParams(all).toString()}`
  return goThrough(agent, await agent.get(url))
}

/** The library's own check of the answer: `state`, `iss`, errors. */
function check({ client }: App, page: Page, state: string): URLSearchParams {
  return oauth.validateAuthResponse(as, client, new URL(page.headers.get('location')!), state)
}

async function exchange(
  { client, auth }: App,
  answer: URLSearchParams,
  verifier: Parameters<typeof oauth.authorizationCodeGrantRequest>[5] = oauth.nopkce,
  expected?: oauth.ProcessAuthorizationCodeResponseOptions,
): Promise<oauth.TokenEndpointResponse> {
  const sent = [as, client, auth, answer, REDIRECT_URI, verifier, insecure] as const
  const response = await oauth.authorizationCodeGrantRequest(...sent)
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, expected)
  if (tokens.id_token !== undefined) await oauth.validateApplicationLevelSignature(as, response, insecure)
  return tokens
}

describe.each([
  ['a web app', {}],
  ['a public client', { token_endpoint_auth_method: 'none' }],
  ['one with ES256 ID tokens', { id_token_signed_response_alg: 'ES256' }],
])('%s', (_name, metadata) => {
  test('signs in with state, nonce, PKCE and max_age; asks who it is; refreshes', async () => {
    const app = await createApp(metadata)
    const verifier = oauth.generateRandomCodeVerifier()
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
    const asked = {
      scope: 'openid email',
      state,
      nonce,
      max_age: '300',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }
    const answer = check(app, await visit(app, asked), state)
    const expected = { expectedNonce: nonce, maxAge: 300, requireIdToken: true }
    const tokens = await exchange(app, answer, verifier, expected)
    const { sub } = oauth.getValidatedIdTokenClaims(tokens)!

    const { client, auth } = app
    const asking = await oauth.userInfoRequest(as, client, tokens.access_token, insecure)
    const userinfo = await oauth.processUserInfoResponse(as, client, sub, asking)
    expect(userinfo).toEqual({ sub, email: ALICE.email, email_verified: true })

    const refreshing = await oauth.refreshTokenGrantRequest(as, client, auth, tokens.refresh_token!, insecure)
    const renewed = await oauth.processRefreshTokenResponse(as, client, refreshing)
    expect(oauth.getValidatedIdTokenClaims(renewed)!.sub).toBe(sub)
    expect(renewed.scope).toBe('openid email')
  })
})

test('errors come back with state and iss, by prompt=none as by the user', async () => {
  const app = await createApp()
  const page = await visit(app, { scope: 'openid', state: 's', prompt: 'none' })
  expect(() => check(app, page, 's')).toThrow(expect.objectContaining({ error: 'login_required' }) as Error)
})

test('form_post: the fields pass the same check', async () => {
  const app = await createApp()
  const page = await visit(app, { scope: 'openid', state: 's', response_mode: 'form_post' })
  const { fields } = findForm(page, 'form-post')!
  const answer = oauth.validateAuthResponse(as, app.client, new URLSearchParams(fields), 's')
  expect(answer.get('code')).toBe(fields['code'])
})

test('without openid: OAuth alone, and no ID token', async () => {
  const app = await createApp({ scope: ['read_books'] })
  const answer = check(app, await visit(app, { scope: 'read_books', state: 's' }), 's')
  const tokens = await exchange(app, answer)
  expect(tokens).toMatchObject({ scope: 'read_books', token_type: 'bearer' })
  expect(tokens.id_token).toBeUndefined()
})

test('userinfo that is signed, by the key that the JWKS has', async () => {
  const app = await createApp({ userinfo_signed_response_alg: 'ES256' })
  const answer = check(app, await visit(app, { scope: 'openid', state: 's' }), 's')
  const { client } = app
  const tokens = await exchange(app, answer)
  const { sub } = oauth.getValidatedIdTokenClaims(tokens)!
  const asking = await oauth.userInfoRequest(as, client, tokens.access_token, insecure)
  const userinfo = await oauth.processUserInfoResponse(as, client, sub, asking)
  await oauth.validateApplicationLevelSignature(as, asking, insecure)
  expect(userinfo.sub).toBe(sub)
})
