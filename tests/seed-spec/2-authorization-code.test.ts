/** seed-spec.md §2: the authorization code, and the token response of the code and refresh grants. */
import { decodeProtectedHeader } from 'jose'
import { describe, expect, test } from 'vitest'
import { answerOf, authorizationUrl, goThrough } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import {
  client,
  exchangeOf,
  request,
  requestTokens,
  seedAnswer,
  startSeedServer,
  userTokens,
} from './server.ts'

const server = await startSeedServer()

describe('§2 Authorization code', () => {
  test("is the query parameter code on the redirect to the client's redirect_uri, beside its state", async () => {
    const agent = createUserAgent(server.url)
    const page = await goThrough(agent, await agent.get(authorizationUrl(server, request)))
    expect(page.headers.get('location')).toMatch(/^https:\/\/rp\.example\/callback\?/)
    expect(answerOf(page).get('code')).toMatch(/^[\x21-\x7e]+$/)
    expect(answerOf(page).get('state')).toBe(request.state)
  })

  test.each(['x', 'with spaces & signs=?#/+%20', 'ünï¢ødé ☃', '{"a":["b"]}'])(
    'the state %j comes back as the client sent it',
    async (state) => {
      expect((await seedAnswer(server, { state })).get('state')).toBe(state)
    },
  )

  test('is exchanged at the token endpoint', async () => {
    const code = (await seedAnswer(server)).get('code')!
    const response = await requestTokens(server, exchangeOf(code))
    expect(response.status).toBe(200)
    expect(await response.json()).toHaveProperty('access_token')
  })
})

describe('§2 Token response (authorization code and refresh)', () => {
  const fields = {
    access_token: expect.stringMatching(/^\S+$/) as string,
    token_type: 'bearer',
    expires_in: 3600,
    refresh_token: expect.stringMatching(/^\S+$/) as string,
    id_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) as string,
    scope: 'openid email profile',
  }

  test('its five fields for a code, and the scope of RFC 6749', async () => {
    const tokens = await userTokens(server)
    expect(tokens).toEqual(fields)
    expect(decodeProtectedHeader(tokens.id_token).alg).toBe('RS256')
  })

  test('the response to a refresh request is the same', async () => {
    const { refresh_token } = await userTokens(server)
    const response = await requestTokens(server, { grant_type: 'refresh_token', refresh_token })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual(fields)
  })
})

describe('§2 response_types', () => {
  test('a client whose response_types lack code cannot use the code flow', async () => {
    const client_id = 'no-code'
    await server.server.oauth.clients.create({ ...client, client_id, response_types: [] })
    const agent = createUserAgent(server.url)
    const answer = answerOf(await agent.get(authorizationUrl(server, { ...request, client_id })))
    expect(Object.fromEntries(answer)).toMatchObject({ error: 'unauthorized_client', state: request.state })
    expect(answer.has('code')).toBe(false)
  })
})
