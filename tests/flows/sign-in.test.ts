import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { ALICE, authorize, REDIRECT_URI, SEED, WEB } from '../support/sign-in.ts'

test('from the login page to tokens, to userinfo, and on with a refresh token', async () => {
  const server = await startServer({}, { seed: SEED })
  const answer = await authorize(server, { scope: 'openid profile email read_books', nonce: 'n' })
  expect(Object.fromEntries(answer)).toEqual({ code: expect.any(String), state: 'a state', iss: server.url })

  const credentials = basic(WEB.client_id, WEB.client_secret)
  const exchange = { grant_type: 'authorization_code', code: answer.get('code')!, redirect_uri: REDIRECT_URI }
  const response = await server.post('/token', exchange, credentials)
  const tokens = (await response.json()) as Record<string, string>
  expect(tokens).toMatchObject({
    token_type: 'bearer',
    expires_in: 3600,
    scope: 'openid profile email read_books',
  })
  expect(decodeJwt(tokens['id_token']!)).toMatchObject({ aud: 'web', nonce: 'n', email: ALICE.email })

  const userinfo = await server.get(`/userinfo/?access_token=${tokens['access_token']}`)
  expect(await userinfo.json()).toMatchObject({ name: ALICE.name, email: ALICE.email, email_verified: true })

  const refresh = { grant_type: 'refresh_token', refresh_token: tokens['refresh_token']! }
  const refreshed = (await (await server.post('/token', refresh, credentials)).json()) as Record<
    string,
    string
  >
  expect(decodeJwt(refreshed['id_token']!).sub).toBe(decodeJwt(tokens['id_token']!).sub)
  expect(refreshed['refresh_token']).not.toBe(tokens['refresh_token'])
})
