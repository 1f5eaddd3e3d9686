/** The database goes away under load and comes back: what still answers, what says 503, and that all heals. */
import { chmod } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { startEmbeddedPostgres } from '../../src/services/database/embedded-postgres.ts'
import { atEndOfFile, temporaryDirectory } from '../support/cleanup.ts'
import { requestToken } from '../support/clients.ts'
import { type DatabaseProxy, startDatabaseProxy } from '../support/database-proxy.ts'
import { createDatabase } from '../support/database.ts'
import { type Load, underLoad } from '../support/load.ts'
import { type SpawnedServer, spawnServer } from '../support/process.ts'
import {
  GUARDED,
  getAccessToken,
  OPAQUE,
  revoke,
  SIGNED,
  statusOf,
  statusOfRoute,
  toClient,
} from '../support/service.ts'

const settings = { PLUGINS: GUARDED, OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false }
const options = { seed: { clients: [SIGNED, OPAQUE] } }
const [signs, stores] = [toClient(SIGNED), toClient(OPAQUE)]

/** A server of its own behind a proxy, with both clients used once, so that they are in its caches. */
async function startBehindProxy(): Promise<{ server: SpawnedServer; proxy: DatabaseProxy }> {
  const database = await createDatabase()
  const proxy = await startDatabaseProxy(database.url)
  const server = await spawnServer({ ...settings, DATABASE_URL: proxy.url }, { ...options, database })
  await Promise.all([getAccessToken(server, signs), getAccessToken(server, stores)])
  return { server, proxy }
}

/** Status and Retry-After: what of an answer matters here. */
async function answer(response: Promise<Response>): Promise<{ status: number; retryAfter: string | null }> {
  const { status, headers, body } = await response
  await body?.cancel()
  return { status, retryAfter: headers.get('retry-after') }
}

const away = { status: 503, retryAfter: expect.stringMatching(/^[1-9]\d*$/) as string }

test('without its database the server does what needs none, and says 503 to the rest', async () => {
  const { server, proxy } = await startBehindProxy()
  const token = await getAccessToken(server, stores)
  const jwt = await getAccessToken(server, signs)
  await proxy.cut()

  expect(await statusOf(server.get('/.well-known/openid-configuration'))).toBe(200)
  expect(await statusOf(server.get('/.well-known/oauth-authorization-server'))).toBe(200)
  expect(await statusOf(server.get('/jwks'))).toBe(200)
  expect(await statusOf(server.get('/healthz'))).toBe(200)
  expect(await statusOf(requestToken(server, signs))).toBe(200)
  expect(await statusOfRoute(server, jwt)).toBe(200)

  expect(await answer(server.get('/readyz'))).toEqual(away)
  expect(await answer(server.post('/introspect', { token }, stores.basic))).toEqual(away)
  expect(await answer(revoke(server, stores, token))).toEqual(away)
  expect(await answer(revoke(server, signs, jwt))).toEqual(away)
  expect(await answer(requestToken(server, stores))).toEqual(away)
  expect(await answer(requestToken(server, toClient({ client_id: 'new', client_secret: 'new' })))).toEqual(
    away,
  )
  expect(await answer(server.get('/shelf', { authorization: `Bearer ${token}` }))).toEqual(away)
  const refused = await server.post('/introspect', { token }, stores.basic)
  expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' })

  await proxy.restore()
  await expect.poll(() => statusOf(server.get('/readyz'))).toBe(200)
  expect(await statusOf(revoke(server, signs, jwt))).toBe(200)
  expect(await statusOfRoute(server, jwt)).toBe(401)
  expect(await statusOfRoute(server, token)).toBe(200)
})

/** Everything at once, each answer with what it is allowed to be. */
function everything(server: SpawnedServer, token: string): Load<{ what: string; status: number }> {
  const requests: [string, () => Promise<Response>][] = [
    ['discovery', () => server.get('/.well-known/openid-configuration')],
    ['jwks', () => server.get('/jwks')],
    ['signed', () => requestToken(server, signs)],
    ['opaque', () => requestToken(server, stores)],
    ['introspection', () => server.post('/introspect', { token }, stores.basic)],
  ]
  let turn = 0
  return underLoad(async () => {
    const [what, request] = requests[turn++ % requests.length]!
    return { what, status: await statusOf(request()) }
  }, 10)
}

function assertNothingWrong(results: readonly { what: string; status: number }[]): void {
  const always = new Set(['discovery', 'jwks', 'signed'])
  const wrong = results.filter(({ what, status }) => status !== 200 && (always.has(what) || status !== 503))
  expect(wrong).toEqual([])
  expect(results.some(({ status }) => status === 503)).toBe(true)
}

test('connections cut in flight, several times: nothing but 503 for what was under way, and all heals', async () => {
  const { server, proxy } = await startBehindProxy()
  const load = everything(server, await getAccessToken(server, stores))
  for (let count = 0; count < 3; count++) {
    await load.more(50)
    await proxy.cut()
    await load.more(50)
    await proxy.restore()
    await expect.poll(() => statusOf(requestToken(server, stores))).toBe(200)
  }
  await load.more(20)
  const results = await load.stop()
  expect(results.slice(-10).every(({ status }) => status === 200)).toBe(true)
  assertNothingWrong(results)
})

test('PostgreSQL stopped and started under load: nothing is lost, and no restart is needed', async () => {
  const dataDir = await temporaryDirectory()
  await chmod(dataDir, 0o755)
  let postgres = await startEmbeddedPostgres({ dataDir })
  atEndOfFile(async () => postgres.stop())
  const proxy = await startDatabaseProxy(postgres.url)
  const server = await spawnServer({ ...settings, DATABASE_URL: proxy.url }, options)
  await Promise.all([getAccessToken(server, signs), getAccessToken(server, stores)])
  const token = await getAccessToken(server, stores)
  const load = everything(server, token)
  await load.more(50)
  await postgres.stop()
  await load.more(100)
  expect(await statusOf(server.get('/readyz'))).toBe(503)
  postgres = await startEmbeddedPostgres({ dataDir })
  await proxy.restore(postgres.url)
  await expect.poll(() => statusOf(server.get('/readyz'))).toBe(200)
  await load.more(50)
  assertNothingWrong(await load.stop())
  expect(await statusOfRoute(server, token)).toBe(200)
})

test('a database that hangs is given up in time, and comes back; without it the server still ends in order', async () => {
  const { server, proxy } = await startBehindProxy()
  const token = await getAccessToken(server, stores)
  proxy.stall()
  const introspect = () => server.post('/introspect', { token }, stores.basic)
  const [introspected, ready] = await Promise.all([answer(introspect()), answer(server.get('/readyz'))])
  expect([introspected, ready]).toEqual([away, away])
  expect(await statusOf(requestToken(server, signs))).toBe(200)
  await proxy.restore()
  await expect.poll(() => statusOf(introspect())).toBe(200)
  await proxy.cut()
  expect(await answer(introspect())).toEqual(away)
  expect(await server.stop()).toBe(0)
})

test('more parallel requests than connections are all served', async () => {
  const server = await spawnServer({ ...settings, DATABASE_POOL_SIZE: 2 }, options)
  const token = await getAccessToken(server, stores)
  const times = (count: number, request: () => Promise<Response>) =>
    Promise.all(Array.from({ length: count }, () => statusOf(request())))
  const statuses = await Promise.all([
    times(200, () => server.post('/introspect', { token }, stores.basic)),
    times(50, () => requestToken(server, stores)),
    times(50, async () => revoke(server, signs, await getAccessToken(server, signs))),
  ])
  expect(new Set(statuses.flat())).toEqual(new Set([200]))
})
