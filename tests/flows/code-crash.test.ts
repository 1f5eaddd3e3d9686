/** SIGKILL while codes are exchanged and tokens refreshed: what was answered holds, what was cut can be done again. */
import { isDeepStrictEqual } from 'node:util'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { ALIVE, codesOf, exchangeAs, lifeOf, refreshAs } from '../support/code-flow.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { underLoad } from '../support/load.ts'
import { type SpawnedServer, spawnServer } from '../support/process.ts'
import { toClient } from '../support/service.ts'
import { SEED, type Tokens, WEB } from '../support/sign-in.ts'

const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const seed = { ...SEED, clients: [WEB, opaque] }
const clients = [toClient(WEB), toClient(opaque)]
// A client that was cut off may take longer than usual to come back.
const settings = { OIDC_REFRESH_REUSE_INTERVAL: 600 }

/** Of no code that is there is there an Authorization, of every Authorization one refresh token that is current. */
async function assertWhole({ query }: TestDatabase): Promise<void> {
  const half = await query(
    `select coalesce(c.authorization_id, a.id), c.hash is not null as unspent, a.id is not null as stored,
       count(r.hash) as current
     from authorization_codes c full join authorizations a on a.id = c.authorization_id
       left join refresh_tokens r on r.authorization_id = coalesce(c.authorization_id, a.id)
     group by c.authorization_id, c.hash, a.id
     having (c.hash is not null) = (a.id is not null)
       or count(r.hash) <> (case when a.id is null then 0 else 1 end)`,
  )
  expect(half).toEqual([])
}

async function restart({ settings, database }: SpawnedServer): Promise<SpawnedServer> {
  return spawnServer(settings, { database })
}

/** What one lane of the load did with a code, as far as its client knows. */
interface Journey {
  client: (typeof clients)[number]
  code: string
  /** The last that were handed out. */
  tokens?: Tokens
}

async function travel(server: SpawnedServer, journey: Journey): Promise<void> {
  try {
    const exchanged = await exchangeAs(server, journey.client, journey.code)
    if (exchanged.status === 200) journey.tokens = exchanged.tokens
    while (journey.tokens !== undefined) {
      const refreshed = await refreshAs(server, journey.client, journey.tokens.refresh_token)
      if (refreshed.status !== 200) throw new Error(`refused: ${refreshed.status}`)
      journey.tokens = refreshed.tokens
      if (Math.random() < 0.7) return
    }
  } catch (error) {
    // The server was killed under this request.
    if (!(error instanceof TypeError)) throw error
  }
}

/** What became of it: handed out and alive, good to exchange again, or stored though nobody was told. */
async function outcomeOf(server: SpawnedServer, { client, code, tokens }: Journey): Promise<unknown> {
  if (tokens !== undefined) {
    const life = await lifeOf(server, client, tokens)
    return isDeepStrictEqual(life, ALIVE) ? 'kept' : life
  }
  const { status, error } = await exchangeAs(server, client, code)
  if (status === 200) return 'again'
  return error === 'invalid_grant' ? 'stored' : { status, error }
}

test('killed four times under load: what was handed out is good, and a code whose answer was cut is never lost', async () => {
  const database = await createDatabase()
  let server = await spawnServer(settings, { seed, database })
  const outcomes: unknown[] = []
  for (let round = 0; round < 4; round++) {
    const running = server
    const codes = codesOf(running)
    const journeys: Journey[] = []
    for (const { clientId } of clients) await codes({ client_id: clientId })
    const load = underLoad(
      async () => {
        const client = clients[journeys.length % 2]!
        const code = await codes({ client_id: client.clientId }).catch(() => undefined)
        if (code === undefined) return
        const journey: Journey = { client, code }
        journeys.push(journey)
        await travel(running, journey)
      },
      8,
      0,
    )
    await load.more(20 + round)
    expect(await running.stop('SIGKILL')).toBe(null)
    await load.stop()

    server = await restart(running)
    await assertWhole(database)
    for (const journey of journeys) outcomes.push(await outcomeOf(server, journey))
    await assertWhole(database)
  }
  const counts = Object.groupBy(outcomes, (outcome) => JSON.stringify(outcome))
  const { '"kept"': kept, '"again"': again = [], '"stored"': stored = [], ...wrong } = counts
  expect(wrong).toEqual({})
  expect(kept!.length).toBeGreaterThan(60)
  expect(again.length + stored.length).toBeGreaterThan(0)
})

/** Holds a table, so that what writes to it waits there. */
async function hold({ url, query }: TestDatabase, table: string) {
  const client = new Client({ connectionString: url })
  await client.connect()
  const release = atEndOfFile(async () => client.end())
  await client.query('begin')
  await client.query(`lock table ${table} in share row exclusive mode`)
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const blocked = async () => {
    await expect.poll(async () => (await query(waiting)).length).toBe(1)
  }
  const others = async () => {
    const left = `select from pg_stat_activity where datname = current_database() and state <> 'idle'
      and query like '%${table}%' and pid <> pg_backend_pid()`
    await expect.poll(async () => (await query(left)).length).toBe(0)
  }
  return { blocked, release: async () => release().then(others) }
}

/** Killed while the one statement waits in the database, which then finishes it or does not. */
async function killWhileHeld(server: SpawnedServer, request: () => Promise<unknown>): Promise<void> {
  const held = await hold(server.database, 'access_tokens')
  const cut = request().catch(() => 'cut')
  await held.blocked()
  await server.stop('SIGKILL')
  expect(await cut).toBe('cut')
  await held.release()
  await assertWhole(server.database)
}

test('killed when the code is spent and its opaque token not yet stored: both are, or neither', async () => {
  const server = await spawnServer(settings, { seed })
  const [, client] = clients
  const code = await codesOf(server, { client_id: 'opaque' })()
  await killWhileHeld(server, async () => exchangeAs(server, client!, code))
  const { query } = server.database
  const stored = (await query('select from authorizations')).length
  expect(await query('select from access_tokens')).toHaveLength(stored)
  const { status } = await exchangeAs(await restart(server), client!, code)
  expect(status).toBe(stored === 1 ? 400 : 200)
})

test('killed when the refresh token is replaced and the opaque token not yet stored: both are, or neither', async () => {
  const server = await spawnServer({ OIDC_REFRESH_REUSE_INTERVAL: 0 }, { seed })
  const [, client] = clients
  const { tokens } = await exchangeAs(server, client!, await codesOf(server, { client_id: 'opaque' })())
  await killWhileHeld(server, async () => refreshAs(server, client!, tokens.refresh_token))
  const { query } = server.database
  const replaced = (await query('select from refresh_tokens where generation > 0')).length
  expect(await query('select from access_tokens')).toHaveLength(1 + replaced)
  const { status } = await refreshAs(await restart(server), client!, tokens.refresh_token)
  expect(status).toBe(replaced === 1 ? 400 : 200)
})
