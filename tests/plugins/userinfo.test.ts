/** The UserInfo endpoint for what has no user of ours behind it; its ordinary contract is in tests/seed-spec and tests/conformance. */
import { expect, test } from 'vitest'
import { createClient, requestToken } from '../support/clients.ts'
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
