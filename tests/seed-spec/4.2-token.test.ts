/** seed-spec.md §4.2: POST /token/ for the grants that stand on a login; client_credentials is in 4-endpoints. */
import { beforeEach, describe, expect, test } from 'vitest'
import { basic, bearer } from '../support/requests.ts'
import { refusal } from '../support/refusals.ts'
import { client, exchangeOf, requestTokens, seedAnswer, startSeedServer, userTokens } from './server.ts'

const server = await startSeedServer()
const names = ['access_token', 'token_type', 'expires_in', 'refresh_token', 'id_token']
let code: string

beforeEach(async () => {
  code = (await seedAnswer(server)).get('code')!
})

describe('§4.2 grant_type=authorization_code', () => {
  test.each(['/token/', '/token'])(
    'client_id, client_secret, code and redirect_uri in the body at %s: a token response',
    async (path) => {
      const response = await requestTokens(server, exchangeOf(code), path)
      expect([response.status, response.redirected]).toEqual([200, false])
      expect(Object.keys((await response.json()) as object)).toEqual(expect.arrayContaining(names))
    },
  )

  test('or HTTP Basic authentication instead of the two', async () => {
    const credentials = basic(client.client_id, client.client_secret)
    const response = await server.post('/token/', exchangeOf(code), {
      ...credentials,
      'cache-control': 'no-cache',
    })
    expect(response.status).toBe(200)
  })

  test('it is never stored by a cache', async () => {
    const { headers } = await requestTokens(server, exchangeOf(code))
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('pragma')).toBe('no-cache')
  })

  test.each(['code', 'redirect_uri'])('without %s there is no token', async (name) => {
    const { [name]: _left, ...form } = exchangeOf(code)
    expect((await requestTokens(server, form)).status).toBe(400)
  })

  test("another app's client cannot exchange the code", async () => {
    await server.server.oauth.clients.create({ ...client, client_id: 'another' }).catch(() => {})
    const answer = requestTokens(server, { ...exchangeOf(code), client_id: 'another' })
    expect(await refusal(answer)).toEqual([400, 'invalid_grant'])
  })
})

describe('§4.2 grant_type=refresh_token', () => {
  test.each(['/token/', '/token'])(
    'client_id, client_secret and refresh_token in the body at %s: a new access token',
    async (path) => {
      const before = await userTokens(server)
      const { refresh_token } = before
      const response = await requestTokens(server, { grant_type: 'refresh_token', refresh_token }, path)
      const after = (await response.json()) as Record<string, string>
      expect(Object.keys(after)).toEqual(expect.arrayContaining(names))
      expect(after['access_token']).not.toBe(before.access_token)
      expect((await server.get('/userinfo/', bearer(after['access_token']!))).status).toBe(200)
    },
  )
})

test('§4.2 The grant is selected by grant_type: another is refused', async () => {
  const answer = requestTokens(server, { ...exchangeOf(code), grant_type: 'password' })
  expect(await refusal(answer)).toEqual([400, 'unsupported_grant_type'])
})
