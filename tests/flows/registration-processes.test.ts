/** Registration at two processes of one server: an initial token's last use, a client after SIGKILL, a database that stands still. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { createDatabase } from '../support/database.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { bearer, type Requests } from '../support/requests.ts'
import type { Settings } from '../support/settings.ts'
import { REDIRECT_URI, SEED } from '../support/sign-in.ts'

const TOKEN = { OIDC_REGISTRATION: 'token' }

async function invite(settings: Settings, name: string, uses: number): Promise<string> {
  const { stdout } = await runCommand(
    ['initial-token', 'create', name, '--uses', String(uses), '--json'],
    settings,
  )
  return (JSON.parse(stdout) as { token: string }).token
}

async function register(server: Requests, token: string): Promise<Response> {
  return server.request('/register', {
    method: 'POST',
    headers: { ...bearer(token), 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [REDIRECT_URI] }),
  })
}

/** Again while there is too much to do. */
async function insist(server: Requests, token: string): Promise<Response> {
  for (;;) {
    const answer = await register(server, token)
    if (answer.status !== 503) return answer
    await sleep(20)
  }
}

test('of many at two processes one has the last use of an initial token, and who was answered is there after SIGKILL', async () => {
  const one = await spawnServer(TOKEN, { seed: SEED })
  const two = await spawnBeside(one.settings, one.database)
  const token = await invite(one.settings, 'three', 3)
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, at) => insist(at % 2 === 0 ? one : two, token)),
  )
  const made = answers.filter(({ status }) => status === 201)
  // Who comes with what is used up counts as a stranger.
  const refused = answers.filter(({ status }) => status === 401 || status === 429)
  expect([made.length, refused.length]).toEqual([3, 47])
  const told = (await made[0]!.json()) as { client_id: string; registration_access_token: string }
  await Promise.all([one.stop('SIGKILL'), two.stop('SIGKILL')])
  const again = await spawnServer(one.settings, { database: one.database })
  const read = await again.get(`/register/${told.client_id}`, bearer(told.registration_access_token))
  expect(read.status).toBe(200)
  const rows = await again.database.query(`select uses_left from initial_tokens where name = 'three'`)
  const clients = await again.database.query(`select 1 from clients where registrar = 'registration'`)
  expect([rows, clients.length]).toEqual([[{ uses_left: 0 }], 3])
})

test('a registration token is used at two processes at once, and after SIGKILL by who has not heard the next one', async () => {
  const one = await spawnServer(TOKEN, { seed: SEED })
  const two = await spawnBeside(one.settings, one.database)
  const answer = await register(one, await invite(one.settings, 'one', 1))
  const told = (await answer.json()) as { client_id: string; registration_access_token: string }
  const read = async (server: Requests, token: string) => {
    const response = await server.get(`/register/${told.client_id}`, bearer(token))
    const { registration_access_token: next } = (await response.json()) as typeof told
    return { status: response.status, next }
  }
  const first = told.registration_access_token
  const all = await Promise.all(
    Array.from({ length: 30 }, async (_, at) => read(at % 2 === 0 ? one : two, first)),
  )
  const [{ next }] = all as [(typeof all)[0]]
  expect(all.filter((each) => each.status !== 200 || each.next !== next)).toEqual([])
  await Promise.all([one.stop('SIGKILL'), two.stop('SIGKILL')])
  const again = await spawnServer(one.settings, { database: one.database })
  expect(await read(again, first)).toEqual({ status: 200, next })
  const after = await read(again, next)
  expect([after.status, (await read(again, first)).status, (await read(again, next)).status]).toEqual([
    200, 401, 200,
  ])
})

test('while the database is away registration is refused for a while, and a lost commit costs a use or nothing', async () => {
  const database = await createDatabase()
  const proxy = await startDatabaseProxy(database.url)
  const server = await spawnServer({ ...TOKEN, DATABASE_URL: proxy.url }, { seed: SEED, database })
  const token = await invite({ ...server.settings, DATABASE_URL: database.url }, 'many', 100)
  expect((await register(server, token)).status).toBe(201)
  await proxy.cut()
  const away = await register(server, token)
  expect([away.status, away.headers.has('retry-after')]).toEqual([503, true])
  await proxy.restore()
  await expect.poll(async () => (await register(server, token)).status).toBe(201)
  proxy.cutAt('commit', 'before')
  await register(server, token)
  proxy.cutAt('commit', 'after')
  await register(server, token)
  const [{ uses_left: left } = {}] = await database.query<{ uses_left: number }>(
    'select uses_left from initial_tokens',
  )
  const [{ count } = {}] = await database.query<{ count: number }>(
    'select count(*)::int as count from registrations',
  )
  expect(count).toBe(100 - left!)
})
