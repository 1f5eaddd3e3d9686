/** A client and a scope of one name, registered at once by two servers on one database: one of them is refused. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { ASIDE, execute } from '../support/connection.ts'
import { startServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const server = await startServer()
const { database, settings } = server
const other = await startServer({ ...settings, PORT: 0 }, { database })
const { clients } = server.server.oauth
const { resources } = other.server.oauth

const CLIENT = `insert into clients (client_id, redirect_uris, scope, metadata) values ($1, '{}', '{}', '{}')`
const SCOPE = 'insert into scopes (name) values ($1)'
const WAITING = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

const messageOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error as Error).message,
  )

/** What `work` comes to while somebody else has registered `name` by `sql`, and commits once `work` waits for that. */
async function beside<T>(sql: string, name: string, work: () => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: database.url, ...ASIDE })
  await client.connect()
  try {
    await client.query('begin')
    await client.query(sql, [name])
    let isDone = false
    const working = work().finally(() => (isDone = true))
    await until(async () => {
      const waiting = await execute(database.url, WAITING)
      expect(isDone || waiting.length > 0).toBe(true)
    })
    await client.query('commit')
    return await working
  } finally {
    await client.end()
  }
}

async function seeded(content: object): Promise<string> {
  const SEED_FILE = join(await temporaryDirectory(), 'seed.json')
  await writeFile(SEED_FILE, JSON.stringify(content))
  const third = await startServer({ ...settings, PORT: 0, SEED_FILE }, { database })
  await third.close()
  return third.output()
}

test('in each of forty rounds exactly one is registered', async () => {
  for (let round = 0; round < 40; round++) {
    const name = `round-${round}`
    const said = await Promise.all([
      messageOf(clients.create({ client_id: name, token_endpoint_auth_method: 'none' })),
      messageOf(resources.saveScope({ name, description: 'x' }, { isNew: true })),
    ])
    expect(said.filter((one) => one === 'done')).toHaveLength(1)
    expect(said.join()).toMatch(/is the (?:name of a scope|client_id of a client): choose another/)
    const there = [await clients.find(name), await resources.findScope(name)]
    expect(there.filter((one) => one !== null)).toHaveLength(1)
  }
})

test('the name of what is deleted is free', async () => {
  await clients.create({ client_id: 'reused' })
  await clients.delete('reused')
  await resources.saveScope({ name: 'reused' }, { isNew: true })
  await resources.deleteScope('reused')
  await clients.create({ client_id: 'reused' })
  expect(await resources.findScope('reused')).toBeNull()
})

describe('what is registered meanwhile', () => {
  test('refuses a client', async () => {
    const create = async () => messageOf(clients.create({ client_id: 'first-scope' }))
    expect(await beside(SCOPE, 'first-scope', create)).toMatch(/is the name of a scope: choose another/)
    expect(await clients.find('first-scope')).toBeNull()
  })

  test('refuses a scope', async () => {
    const save = async () => messageOf(resources.saveScope({ name: 'first-client' }))
    expect(await beside(CLIENT, 'first-client', save)).toMatch(/is the client_id of a client: choose another/)
    expect(await resources.findScope('first-client')).toBeNull()
  })

  test('leaves a client of SEED_FILE out, and nothing else', async () => {
    const content = { clients: ['seeded-scope', 'seeded-beside'].map((client_id) => ({ client_id })) }
    const said = await beside(SCOPE, 'seeded-scope', async () => seeded(content))
    expect(said).toMatch(/"section":"clients","name":"seeded-scope".*left out, since a scope has this name/)
    expect(await clients.find('seeded-scope')).toBeNull()
    expect(await clients.find('seeded-beside')).not.toBeNull()
  })

  test('leaves a scope of SEED_FILE out, and nothing else', async () => {
    const content = { scopes: [{ name: 'seeded-client' }, { name: 'scope-beside' }] }
    const said = await beside(CLIENT, 'seeded-client', async () => seeded(content))
    expect(said).toMatch(
      /"section":"scopes","name":"seeded-client".*left out, since a client has this client_id/,
    )
    expect(await resources.findScope('seeded-client')).toBeNull()
    expect(await resources.findScope('scope-beside')).not.toBeNull()
  })
})
