/** What was acknowledged holds: a revocation is answered 200 when it is stored, and only then. */
import { expect, test } from 'vitest'
import { type TestClient, createClient } from '../support/clients.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { createDatabase } from '../support/database.ts'
import { underLoad } from '../support/load.ts'
import { spawnServer } from '../support/process.ts'
import { startServer } from '../support/server.ts'
import {
  GUARDED,
  GUARDED_SCOPE,
  getAccessToken,
  OPAQUE,
  revoke,
  SIGNED,
  statusOf,
  statusOfRoute,
  toClient,
} from '../support/service.ts'

test('SIGKILL under a load of revocations: each that was acknowledged holds after a restart', async () => {
  const embedded = { PLUGINS: GUARDED, DATABASE_URL: undefined }
  const server = await spawnServer(embedded, { seed: { clients: [SIGNED, OPAQUE] } })
  const clients = [toClient(SIGNED), toClient(OPAQUE)]
  const acknowledged: string[] = []
  const untouched = await Promise.all(clients.map(async (client) => getAccessToken(server, client)))
  let turn = 0
  const load = underLoad(
    async () => {
      const client = clients[turn++ % 2]!
      try {
        const token = await getAccessToken(server, client)
        if ((await statusOf(revoke(server, client, token))) === 200) acknowledged.push(token)
      } catch {
        // The server was killed under this request: nothing was promised.
      }
    },
    8,
    0,
  )
  await load.more(100)
  expect(await server.stop('SIGKILL')).toBe(null)
  await load.stop()
  expect(acknowledged.length).toBeGreaterThanOrEqual(90)

  const again = await spawnServer(server.settings, { database: server.database })
  const statuses = await Promise.all(acknowledged.map(async (token) => statusOfRoute(again, token)))
  expect(new Set(statuses)).toEqual(new Set([401]))
  for (const token of untouched) expect(await statusOfRoute(again, token)).toBe(200)
})

test('a revocation whose commit fails is not acknowledged, and not half done', async () => {
  const server = await startServer({ PLUGINS: GUARDED })
  const client = await createClient(server, { scope: GUARDED_SCOPE })
  const token = await getAccessToken(server, client)
  // A deferred trigger lets every statement pass and fails the commit itself.
  await server.database.query(`create function refuse() returns trigger language plpgsql as
    'begin raise exception using errcode = ''53100'', message = ''the disk is full''; end'`)
  await server.database.query(`create constraint trigger refuse after insert on changes
    deferrable initially deferred for each row execute function refuse()`)
  const refused = await revoke(server, client, token)
  expect(refused.status).toBe(503)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await statusOfRoute(server, token)).toBe(200)
  expect(await server.database.query('select from revoked_tokens')).toEqual([])
  await server.database.query('drop trigger refuse on changes')
  expect(await statusOf(revoke(server, client, token))).toBe(200)
  expect(await statusOfRoute(server, token)).toBe(401)
})

test.each(['before', 'after'] as const)(
  'a revocation whose connection breaks %s its commit is answered 503, and may be sent again',
  async (when) => {
    // A commit that PostgreSQL refuses has another end.
    const database = await createDatabase({ refusing: false })
    const proxy = await startDatabaseProxy(database.url)
    const server = await startServer({ PLUGINS: GUARDED, DATABASE_URL: proxy.url }, { database })
    const client: TestClient = await createClient(server, { scope: GUARDED_SCOPE })
    const token = await getAccessToken(server, client)
    proxy.cutAt('commit', when)
    expect(await statusOf(revoke(server, client, token))).toBe(503)
    expect(await database.query('select from revoked_tokens')).toHaveLength(when === 'before' ? 0 : 1)
    expect(await statusOf(revoke(server, client, token))).toBe(200)
    expect(await statusOfRoute(server, token)).toBe(401)
  },
)
