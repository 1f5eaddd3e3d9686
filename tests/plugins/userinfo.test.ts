/** The UserInfo endpoint for what has no user of ours behind it; its ordinary contract is in tests/seed-spec and tests/conformance. */
import { expect, test } from 'vitest'
import { createClient, getToken, requestToken } from '../support/clients.ts'
import { bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { addUserGrant, USER_GRANT } from '../support/user-grant.ts'

const server = await startServer({}, { extend: addUserGrant })

test('a token for a subject that is no user of ours is refused, with its challenge', async () => {
  const client = await createClient(server, { grant_types: [USER_GRANT], scope: ['a'] })
  const form = { grant_type: USER_GRANT, scope: 'openid', user: 'somebody-elsewhere' }
  const { access_token: token } = (await (await requestToken(server, client, form)).json()) as {
    access_token: string
  }
  const response = await server.get('/userinfo', bearer(token))
  expect(response.status).toBe(401)
  expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"')
  expect(await response.json()).toMatchObject({ error: 'invalid_token' })
})

test('the scope comes before the subject: a token that a client got for itself lacks it', async () => {
  for (const format of ['jwt', 'opaque']) {
    const client = await createClient(server, { scope: ['a'], access_token_format: format })
    const { access_token: token } = await getToken(server, client)
    for (const response of [
      await server.get('/userinfo', bearer(token)),
      await server.post('/userinfo', { access_token: token }),
      await server.get(`/userinfo?access_token=${token}`),
    ]) {
      expect([response.status, await response.json()]).toMatchObject([403, { error: 'insufficient_scope' }])
      const challenge = response.headers.get('www-authenticate')
      expect(challenge).toMatch(/^Bearer .*error="insufficient_scope"/)
      expect(challenge).toContain('scope="openid"')
    }
  }
})

test('one that has the scope and stands for nobody is still refused for that', async () => {
  const client = await createClient(server, { scope: ['openid'] })
  const { access_token: token } = await getToken(server, client)
  const response = await server.get('/userinfo', bearer(token))
  expect([response.status, await response.json()]).toMatchObject([401, { error: 'invalid_token' }])
})
