/** The token endpoint's phases in their order: of several faults, the one of the earlier phase is told. */
import { describe, expect, test } from 'vitest'
import { createClient, requestToken } from '../../support/clients.ts'
import { startServer } from '../../support/server.ts'
import { addUserGrant, USER_GRANT } from '../../support/user-grant.ts'

const server = await startServer({}, { extend: addUserGrant })
const client = await createClient(server, { client_id: 'service', scope: ['a', 'b'] })
const without = await createClient(server, { scope: ['a'], grant_types: ['authorization_code'] })

async function outcome(response: Response): Promise<[number, unknown]> {
  const { error } = (await response.json()) as { error?: string }
  return [response.status, error]
}

describe('each phase refuses with its own error', () => {
  test('1. the form is parsed before the client is looked at', async () => {
    const repeated = `grant_type=a&grant_type=b&client_id=nobody&client_secret=wrong`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await server.request('/token', { method: 'POST', headers, body: repeated })
    expect(await outcome(response)).toEqual([400, 'invalid_request'])
  })

  test('2. the client is authenticated before the grant is looked for', async () => {
    const wrong = { client_id: 'service', client_secret: 'wrong' }
    expect(await outcome(await server.post('/token', { ...wrong, grant_type: 'nonsense' }))).toEqual([
      401,
      'invalid_client',
    ])
    expect(await outcome(await server.post('/token', wrong))).toEqual([401, 'invalid_client'])
  })

  test('3. a missing grant_type is invalid_request, an empty one too', async () => {
    for (const form of [{}, { grant_type: '' }] as Record<string, string>[]) {
      const response = await server.post('/token', form, client.basic)
      expect(await response.clone().json()).toMatchObject({
        error_description: 'the parameter grant_type is missing',
      })
      expect(await outcome(response)).toEqual([400, 'invalid_request'])
    }
  })

  test.each(['nonsense', 'CLIENT_CREDENTIALS', 'password', '__proto__', 'constructor'])(
    '4. the grant %s is served by nobody: unsupported_grant_type',
    async (grant_type) => {
      const response = await requestToken(server, client, { grant_type, scope: 'not-mine' })
      expect(await outcome(response)).toEqual([400, 'unsupported_grant_type'])
    },
  )

  test('5. a client that may not use the grant: unauthorized_client, whatever its parameters are', async () => {
    const response = await requestToken(server, without, { scope: 'not-mine' })
    expect(await outcome(response)).toEqual([400, 'unauthorized_client'])
  })

  test('6. the parameters of the grant are checked after the right to use it', async () => {
    const form = { grant_type: USER_GRANT, scope: 'a' }
    expect(await outcome(await requestToken(server, client, form))).toEqual([400, 'unauthorized_client'])
    const user = await createClient(server, { scope: ['a'], grant_types: [USER_GRANT] })
    const response = await requestToken(server, user, form)
    expect(await response.clone().json()).toMatchObject({
      error_description: 'the parameter user is missing',
    })
    expect(await outcome(response)).toEqual([400, 'invalid_request'])
  })

  test('7. the grant refuses what it does not grant', async () => {
    expect(await outcome(await requestToken(server, client, { scope: 'c' }))).toEqual([400, 'invalid_scope'])
  })

  test('8. whatever a grant established, a scope that is not registered for the client is not issued', async () => {
    const user = await createClient(server, { scope: ['a'], grant_types: [USER_GRANT] })
    const response = await requestToken(server, user, { grant_type: USER_GRANT, scope: 'a b', user: 'ada' })
    expect(await outcome(response)).toEqual([400, 'invalid_scope'])
    expect(await server.database.query('select id from authorizations')).toEqual([])
  })
})

test('a grant of the standards that is registered but not served is stored, and using it refused', async () => {
  const ciba = 'urn:openid:params:grant-type:ciba'
  const some = await createClient(server, { scope: ['a'], grant_types: [ciba] })
  expect((await server.server.oauth.clients.find(some.clientId))?.grant_types).toEqual([ciba])
  const response = await requestToken(server, some, { grant_type: ciba })
  expect(await outcome(response)).toEqual([400, 'unsupported_grant_type'])
})

test('a token on behalf of a user is of type bearer and has an Authorization behind it', async () => {
  const user = await createClient(server, { scope: ['a'], grant_types: [USER_GRANT] })
  const response = await requestToken(server, user, { grant_type: USER_GRANT, scope: 'a', user: 'ada' })
  expect(await response.json()).toMatchObject({ token_type: 'bearer', scope: 'a' })
  const rows = await server.database.query('select client_id, subject from authorizations')
  expect(rows).toEqual([{ client_id: user.clientId, subject: 'ada' }])
})
