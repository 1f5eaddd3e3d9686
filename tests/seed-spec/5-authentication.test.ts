/** seed-spec.md §5: how clients and users show who they are, and how a token is presented and renewed. */
import { describe, expect, test } from 'vitest'
import { refusal } from '../support/refusals.ts'
import { authorizationUrl } from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'
import { client, request, requestTokens, startSeedServer, tokenRequest, userTokens } from './server.ts'

const server = await startSeedServer()

describe('§5.1 client_id and client_secret as form parameters', () => {
  test('the right secret is accepted, a wrong one refused', async () => {
    const { client_id, client_secret } = client
    const form = { grant_type: 'client_credentials', client_id, client_secret }
    expect((await server.post('/token/', form)).status).toBe(200)
    expect((await server.post('/token/', { ...form, client_secret: 'wrong' })).status).toBe(401)
  })
})

describe('§5.2 Authorization: Basic', () => {
  test('client ID and secret, base64-encoded, with the body grant_type=client_credentials', async () => {
    const response = await server.request('/token/', tokenRequest())
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ token_type: 'Bearer', scope: 'read_books write_books' })
  })

  test('a wrong secret is 401 invalid_client with a Basic challenge', async () => {
    const response = await server.request('/token/', tokenRequest(client.client_id, 'wrong'))
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm="/)
    expect(await response.json()).toMatchObject({ error: 'invalid_client' })
  })

  test('without credentials there is no token', async () => {
    const response = await server.post('/token/', { grant_type: 'client_credentials' })
    expect(response.status).toBe(401)
  })
})

describe('§5.3 End users', () => {
  test('authenticate at the authorization endpoint: a wrong password gives neither consent nor a code', async () => {
    const agent = createUserAgent(server.url)
    const login = await agent.get(authorizationUrl(server, request))
    const again = await agent.submit(login, 'login', { username: 'alice', password: 'wrong' })
    expect([again.status, again.headers.get('location')]).toEqual([403, null])
    expect(findForm(again, 'consent')).toBeUndefined()
    expect(findForm(again, 'login')).toBeDefined()
  })

  test('the client must be registered with a redirect_uri', async () => {
    const { clients } = server.server.oauth
    await expect(clients.create({ response_types: ['code'] })).rejects.toThrow('redirect_uris')
    const { client_id } = await clients.create({ scope: ['read_books'] })
    const page = await createUserAgent(server.url).get(authorizationUrl(server, { ...request, client_id }))
    expect([page.status, page.headers.get('location')]).toEqual([400, null])
  })
})

describe('§5.4 An access token is presented to userinfo', () => {
  test('as the query parameter access_token', async () => {
    const { access_token } = await userTokens(server)
    expect((await server.get(`/userinfo/?access_token=${access_token}`)).status).toBe(200)
  })
})

describe('§5.6 Refresh', () => {
  test('a client with a refresh token and its credentials gets a new access token; without them it does not', async () => {
    const form = { grant_type: 'refresh_token', refresh_token: (await userTokens(server)).refresh_token }
    expect(await refusal(server.post('/token/', form))).toEqual([401, 'invalid_client'])
    expect(await refusal(requestTokens(server, { ...form, client_secret: 'wrong' }))).toEqual([
      401,
      'invalid_client',
    ])
    expect((await requestTokens(server, form)).status).toBe(200)
  })
})
