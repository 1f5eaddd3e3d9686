/** seed-spec.md §1: logins for relying parties, tokens that prove who calls from where, resources under scopes. */
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { runCommandHere } from '../support/command-here.ts'
import { bearer } from '../support/requests.ts'
import { ALICE, answerOf, authorizationUrl, authorize, BOB, goThrough } from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'
import { client, exchangeOf, request, startSeedServer, userTokens } from './server.ts'

const server = await startSeedServer()
const { oauth } = server.server

describe('§1.1 logs users in on behalf of relying-party applications', () => {
  test('the app learns who the user is, and that it was told so by this service for this app', async () => {
    const { id_token } = await userTokens(server)
    const alice = await oauth.users.find(ALICE.username)
    expect(decodeJwt(id_token)).toMatchObject({ iss: server.url, aud: client.client_id, sub: alice!.id })
  })
})

describe('§1.2 the access token', () => {
  test('comes at the end of a login and is sent with each call, for example to userinfo', async () => {
    const { access_token } = await userTokens(server)
    for (let calls = 0; calls < 2; calls++) {
      const userinfo = await server.get('/userinfo/', bearer(access_token))
      expect(await userinfo.json()).toMatchObject({ email: ALICE.email })
    }
  })

  test('proves that a specific person made the call from a specific app', async () => {
    const { username, password } = BOB
    const bob = await oauth.users.create({ username, password })
    const { client_id } = await oauth.clients.create({ ...client, client_id: 'another-app' })
    const agent = createUserAgent(server.url)
    const login = await agent.get(authorizationUrl(server, { ...request, client_id }))
    const code = answerOf(await goThrough(agent, login, BOB)).get('code')!
    const form = { ...exchangeOf(code), client_id: client_id!, client_secret: client.client_secret }
    const { access_token } = (await (await server.post('/token/', form)).json()) as { access_token: string }
    const who = await server.get('/who', bearer(access_token))
    expect(await who.json()).toEqual({ person: bob.id, app: 'another-app' })

    const alice = await oauth.users.find(ALICE.username)
    const hers = await server.get('/who', bearer((await userTokens(server)).access_token))
    expect(await hers.json()).toEqual({ person: alice!.id, app: client.client_id })
  })
})

describe('§1.3 a simple OAuth 2.0 server too', () => {
  test('without openid there is an access token for the resource and no ID token', async () => {
    const tokens = await userTokens(server, { scope: 'read_books' })
    expect(tokens).not.toHaveProperty('id_token')
    expect((await server.get('/books', bearer(tokens.access_token))).status).toBe(200)
    expect((await server.get('/userinfo/', bearer(tokens.access_token))).status).toBe(403)
  })
})

describe('§1.5 clients are registered', () => {
  test.each(['through an administration interface: the command line', 'programmatically'])(
    '%s',
    async (way) => {
      const redirect_uri = 'https://new.example/callback'
      const options = ['--redirect-uri', redirect_uri, '--json']
      const { client_id } =
        way === 'programmatically'
          ? await oauth.clients.create({ redirect_uri })
          : (JSON.parse((await runCommandHere(['client', 'create', ...options], server.settings)).stdout) as {
              client_id: string
            })
      const agent = createUserAgent(server.url)
      const query = new URLSearchParams({ ...request, client_id: client_id!, redirect_uri })
      await expect
        .poll(async () => findForm(await agent.get(`${server.url}/authorize?${query.toString()}`), 'login'))
        .toBeDefined()
      const answer = await authorize(server, { ...request, client_id, redirect_uri }, agent)
      expect(answer.get('code')).toBeTruthy()
    },
  )
})
