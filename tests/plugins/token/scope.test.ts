/** What client_credentials grants: the registered list, narrowed by `scope`, less the rights to introspect. */
import { describe, expect, test } from 'vitest'
import { createClient, getToken, requestToken } from '../../support/clients.ts'
import { startServer } from '../../support/server.ts'

const server = await startServer()
const client = await createClient(server, { scope: ['c', 'a', 'b'] })

async function scope(asked?: string): Promise<string> {
  return (await getToken(server, client, asked === undefined ? {} : { scope: asked })).scope
}

test('without a scope parameter: all of the list, in its order', async () => {
  expect(await scope()).toBe('c a b')
  expect(await scope('')).toBe('c a b')
})

test('a scope parameter narrows it; repetitions and further spaces do not count', async () => {
  expect(await scope('a')).toBe('a')
  expect(await scope('b c')).toBe('b c')
  expect(await scope('a a  b a')).toBe('a b')
})

test('the token carries what the response says', async () => {
  const { access_token, scope } = await getToken(server, client, { scope: 'b a' })
  const claims = JSON.parse(Buffer.from(access_token.split('.')[1]!, 'base64url').toString())
  expect(claims).toMatchObject({ scope, client_id: client.clientId, sub: client.clientId, iss: server.url })
})

describe('invalid_scope', () => {
  test.each(['d', 'a d', 'A', 'a,b', 'a"', 'a\\', 'a\tb', 'é', ' ', 'x'.repeat(201), 'token_introspection'])(
    'for %j',
    async (asked) => {
      const response = await requestToken(server, client, { scope: asked })
      expect(response.status).toBe(400)
      const body = (await response.json()) as Record<string, string>
      expect(body['error']).toBe('invalid_scope')
      expect(body['error_description']).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    },
  )

  test('for a client whose list is empty', async () => {
    const empty = await createClient(server, { scope: [], grant_types: ['client_credentials'] })
    const response = await requestToken(server, empty)
    expect(await response.json()).toMatchObject({ error: 'invalid_scope' })
  })
})

describe('rights to introspect', () => {
  test('token_introspection and the client_id of a client are never granted', async () => {
    const guard = await createClient(server, { scope: ['token_introspection', 'read', client.clientId] })
    expect((await getToken(server, guard)).scope).toBe('read')
    for (const right of ['token_introspection', client.clientId]) {
      const response = await requestToken(server, guard, { scope: right })
      expect(await response.json()).toMatchObject({ error: 'invalid_scope' })
    }
  })

  test('a list of rights alone grants nothing', async () => {
    const guard = await createClient(server, { scope: ['token_introspection'] })
    const response = await requestToken(server, guard)
    expect(await response.json()).toMatchObject({ error: 'invalid_scope' })
  })

  test('a scope becomes a right when a client of that name is registered', async () => {
    const early = await createClient(server, { scope: ['read', 'late-client'] })
    expect((await getToken(server, early)).scope).toBe('read late-client')
    await createClient(server, { client_id: 'late-client' })
    expect((await getToken(server, early)).scope).toBe('read')
  })
})
