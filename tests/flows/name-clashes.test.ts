/**
 * A client_id in a client's scope list is the right to introspect that client's tokens, and never granted: so no scope has
 * the name of a client, and no client that of a scope, whoever registers it and how.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { signedIn } from '../plugins/admin/administrator.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createClient, getToken } from '../support/clients.ts'
import { runCommandHere } from '../support/command-here.ts'
import { startServer } from '../support/server.ts'

const ROOT = { username: 'root', password: 'a password of the administrator', roles: ['admin'] }
const server = await startServer({}, { seed: { users: [ROOT] } })
const { clients, resources } = server.server.oauth
const settings = {
  DATABASE_URL: server.database.url,
  SECRET_KEY: server.settings['SECRET_KEY'],
  LOG_LEVEL: 'warn',
}
const agent = await signedIn(server, ROOT)

/** What was said of it. */
interface Way {
  client(id: string): Promise<string>
  scope(name: string): Promise<string>
  /** Where it is a way to end one. */
  endScope?(name: string): Promise<string>
}

const messageOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error as Error).message,
  )

async function seeded(content: object): Promise<string> {
  const SEED_FILE = join(await temporaryDirectory(), 'seed.json')
  await writeFile(SEED_FILE, JSON.stringify(content))
  const other = await startServer({ ...server.settings, PORT: 0, SEED_FILE }, { database: server.database })
  await other.close()
  return other.output()
}

const ways: Record<string, Way> = {
  code: {
    client: async (id) => messageOf(clients.create({ client_id: id })),
    scope: async (name) => messageOf(resources.saveScope({ name })),
    endScope: async (name) => messageOf(resources.deleteScope(name)),
  },
  'the command line': {
    client: async (id) => (await runCommandHere(['client', 'create', '--client-id', id], settings)).stderr,
    scope: async (name) => (await runCommandHere(['scope', 'create', name], settings)).stderr,
    endScope: async (name) => (await runCommandHere(['scope', 'delete', name, '--yes'], settings)).stderr,
  },
  'the page': {
    async client(id) {
      const page = await agent.get(`${server.url}/admin/clients/new`)
      return (await agent.submit(page, 'client', { client_id: id, redirect_uris: 'https://app.example/cb' }))
        .body
    },
    async scope(name) {
      const page = await agent.get(`${server.url}/admin/scopes/new`)
      return (await agent.submit(page, 'record', { name })).body
    },
    async endScope(name) {
      const page = await agent.get(`${server.url}/admin/scope?id=${name}`)
      return (await agent.submit(page, 'delete-record', { confirm: name })).body
    },
  },
  SEED_FILE: {
    client: async (id) => seeded({ clients: [{ client_id: id, client_secret: 'a secret of theirs' }] }),
    scope: async (name) => seeded({ scopes: [{ name }] }),
  },
}

describe.each(Object.entries(ways))('by %s', (way, { client, scope, endScope }) => {
  const name = way.replaceAll(' ', '-').toLowerCase()

  test('a client is not called like a scope', async () => {
    await resources.saveScope({ name: `scope-${name}` })
    expect(await client(`scope-${name}`)).toMatch(
      /is the name of a scope: choose another|a scope has this name/i,
    )
    expect(await clients.find(`scope-${name}`)).toBeNull()
    // One that every client may ask for is none that anybody registered.
    expect(await client('email')).toMatch(/is the name of a scope: choose another|a scope has this name/i)
    expect(await clients.find('email')).toBeNull()
    const reader = await createClient(server, { scope: [`scope-${name}`] })
    expect((await getToken(server, reader)).scope).toBe(`scope-${name}`)
  })

  test('a scope is not called like a client', async () => {
    await clients.create({ client_id: `client-${name}` })
    expect(await scope(`client-${name}`)).toMatch(
      /is the client_id of a client: choose another|a client has this client_id/i,
    )
    expect(await resources.findScope(`client-${name}`)).toBeNull()
  })

  test.skipIf(endScope === undefined)('a scope does not end while clients list it, and then its name is free', async () => {
    const ending = `ending-${name}`
    await resources.saveScope({ name: ending })
    const listing = Array.from({ length: 7 }, (_, at) => `listing-${name}-${at}`)
    for (const client_id of listing) await clients.create({ client_id, scope: [ending, 'other'] })
    const named = [...listing.slice(0, 5), 'others'].join(', ')
    expect(await endScope!(ending)).toMatch(
      new RegExp(`is in the scope list of clients: take it out there first \\(${named}\\)`, 'i'),
    )
    expect(await resources.findScope(ending)).not.toBeNull()
    expect(await client(ending)).toMatch(/is the name of a scope: choose another/i)
    for (const client_id of listing) await clients.update(client_id, { scope: ['other'] })
    await endScope!(ending)
    expect(await resources.findScope(ending)).toBeNull()
  }) // prettier-ignore

  test('neither is called like the right to introspect', async () => {
    for (const register of [client, scope])
      expect(await register('token_introspection')).toMatch(
        /is the name of a right: choose another|a right has this name/i,
      )
    expect(await clients.find('token_introspection')).toBeNull()
    expect(await resources.findScope('token_introspection')).toBeNull()
  })
})

test('of a client and a scope in one file the client is registered, at each start, and all else with it', async () => {
  const content = {
    scopes: [{ name: 'both' }, { name: 'another' }],
    clients: [{ client_id: 'both', client_secret: 'a secret of theirs' }, { client_id: 'openid' }],
    resources: [{ resource: 'https://api.example/', scopes: ['listed', 'both'] }],
  }
  for (let start = 0; start < 2; start++) {
    const said = await seeded(content)
    expect(said).toMatch(/"section":"scopes","name":"both"/)
    expect(said).toMatch(/"section":"clients","name":"openid"/)
    expect(said).not.toContain('deleted or renamed here')
    expect(await resources.findScope('both')).toBeNull()
    expect(await clients.find('both')).not.toBeNull()
    for (const name of ['another', 'listed']) expect(await resources.findScope(name)).not.toBeNull()
  }
})

test('what an earlier version let in goes on, and can be changed', async () => {
  await clients.create({ client_id: 'former' })
  await server.database.query(`insert into scopes (name) values ('former')`)
  await resources.saveScope({ name: 'former', description: 'Changed' })
  expect(await clients.update('former', { client_name: 'Changed' })).toMatchObject({ client_name: 'Changed' })
  const said = await seeded({
    scopes: [{ name: 'former', description: 'Again' }],
    clients: [{ client_id: 'former', client_name: 'Again' }],
  })
  expect(said).not.toContain('left out')
  expect(await resources.findScope('former')).toMatchObject({ description: 'Again' })
})
