/** seed-spec.md §4.3: GET /userinfo/ with the access token in the query. */
import { describe, expect, test } from 'vitest'
import { ALICE } from '../support/sign-in.ts'
import { startSeedServer, userTokens } from './server.ts'

const server = await startSeedServer()

function userinfo(query: string, from = server): Promise<Response> {
  return from.get(`/userinfo/${query}`, { 'cache-control': 'no-cache' })
}

describe('§4.3 GET /userinfo/', () => {
  test('the query parameter access_token, and Cache-Control: no-cache: who the user is', async () => {
    const { access_token } = await userTokens(server)
    const response = await userinfo(`?access_token=${access_token}`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
    const alice = await server.server.oauth.users.find(ALICE.username)
    expect(await response.json()).toMatchObject({
      sub: alice!.id,
      name: ALICE.name,
      email: ALICE.email,
      email_verified: true,
    })
  })

  test('each scope releases its own claims and no others', async () => {
    const { access_token } = await userTokens(server, { scope: 'openid email' })
    const body = (await (await userinfo(`?access_token=${access_token}`)).json()) as object
    expect(Object.keys(body)).toEqual(['sub', 'email', 'email_verified'])
  })

  test.each(['', '?access_token=', '?access_token=nonsense'])(
    'access_token is required: %j is 401',
    async (query) => {
      expect((await userinfo(query)).status).toBe(401)
    },
  )

  test('an expired token yields 401', async () => {
    const expiring = await startSeedServer({ OIDC_TOKEN_EXPIRE: 0 })
    const { access_token } = await userTokens(expiring)
    const response = await userinfo(`?access_token=${access_token}`, expiring)
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"')
  })
})
