/**
 * What doctor, the dashboard and the metrics tell of a database over several servers: where its tables lie, what asks all of them, what was
 * left prepared, and a server that says nothing, which keeps nobody waiting. Of a database on one server they tell nothing, and ask nothing.
 */
import { afterEach, expect, test, vi } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { EVERYWHERE, pagesEverywhere } from '../../src/store/distribution/everywhere.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { passTime } from '../support/clocks.ts'
import { codesOf, exchangeAs } from '../support/code-flow.ts'
import { runCommandHere } from '../support/command-here.ts'
import { execute } from '../support/connection.ts'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { distributeOver } from '../support/distributed.ts'
import { parseMetrics } from '../support/metrics.ts'
import { createOwnPostgres } from '../support/own-postgres.ts'
import { routesOf } from '../support/routes.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { toClient } from '../support/service.ts'
import { freePort, type Settings } from '../support/settings.ts'
import { ALICE, SEED, WEB } from '../support/sign-in.ts'
import { ROOT, signedIn } from '../plugins/admin/administrator.ts'
import { LEFT_OUT } from '../support/left-out.ts'

const seed = { ...SEED, users: [...SEED.users, ROOT] }
const NAMES = [
  'latchkey_distribution_server_up',
  'latchkey_distributed_table_bytes',
  'latchkey_prepared_transactions',
  'latchkey_prepared_transactions_age_seconds',
  'latchkey_everywhere_statements_total',
]
/** In front, and two shares as they are; the third one is a server of its own, which can stall. */
const database = await createDatabase({ distributed: false })
const own = await createOwnPostgres(await temporaryDirectory())
await own.start({ max_prepared_transactions: '5' })
const third = await startDatabaseProxy(own.url)
const [first, second] = [await createEmptyDatabase(), await createEmptyDatabase()]
await distributeOver(database.url, [first.url, second.url, third.url])
const server = await startServer({ METRICS_PORT: await freePort() }, { database, seed })
const root = await signedIn(server)

afterEach(() => vi.useRealTimers())

const metricsOf = async ({ server: { metrics } }: TestServer) => parseMetrics(await metrics!.text())
const dashboardOf = async (): Promise<{ status: number; body: string }> => root.get(`${server.url}/admin`)
const doctor = async (given: Settings = {}) =>
  (await runCommandHere(['doctor'], { ...server.settings, ...given })).stdout
    .split('\n')
    .filter((line) => line.includes('distribution:'))

async function valuesOf(name: string): Promise<Record<string, number>> {
  const samples = (await metricsOf(server)).filter((one) => one.name === name)
  return Object.fromEntries(samples.map(({ labels, value }) => [Object.values(labels).join(' '), value]))
}

/** When what was surveyed serves no longer. */
function later(): void {
  passTime(6000)
}

test('of one server nothing is told, and nothing asked', async () => {
  const plain = await createDatabase({ distributed: false })
  const alone = await startServer({ METRICS_PORT: await freePort() }, { database: plain, seed })
  expect(kernelOf(alone.server).database.distribution).toBeNull()
  const names = new Set((await metricsOf(alone)).map(({ name }) => name))
  expect(NAMES.filter((name) => names.has(name))).toEqual([])
  expect((await (await signedIn(alone)).get(`${alone.url}/admin`)).body).not.toContain('Where tokens lie')
  const { stdout } = await runCommandHere(['doctor'], alone.settings)
  expect(stdout).not.toContain('distribution')
})

test('where the tables lie is told by all three', async () => {
  await exchangeAs(server, toClient(WEB), await codesOf(server)())
  expect(await valuesOf('latchkey_distribution_server_up')).toEqual({ 1: 1, 2: 1, 3: 1 })
  const sizes = await valuesOf('latchkey_distributed_table_bytes')
  expect(Object.keys(sizes)).toHaveLength(12)
  expect(Math.min(...Object.values(sizes))).toBeGreaterThan(0)
  expect(await valuesOf('latchkey_prepared_transactions')).toEqual({ front: 0, 1: 0, 2: 0, 3: 0 })
  const { body } = await dashboardOf()
  expect(body).toContain('<h2 id="distribution">Where tokens lie</h2>')
  expect(body.match(/<dt>shard \d \([^)]*\)<\/dt>\n<dd>[^<]* MB in <bdi>authorizations/g)).toHaveLength(3)
  expect(body).not.toContain('Look at this')
  const [all, where, pages] = await doctor()
  expect(all).toBe('ok    distribution: Tokens lie on 3 servers, and each answers.')
  expect(where).toMatch(/: authorizations, authorization_codes, refresh_tokens and access_tokens lie on shard 1 .*, shard 2 .*, shard 3 .*; all else on this server\.$/)
  expect(pages).toContain(pagesEverywhere([...LEFT_OUT]).join(', '))
  const less = [...LEFT_OUT, 'latchkey-own-data'].join(',')
  const told = (await doctor({ WITHOUT: less })).at(-1)
  const status = await runCommandHere(['distribute', 'status'], { ...server.settings, WITHOUT: less })
  const named = pagesEverywhere([...LEFT_OUT, 'latchkey-own-data'])
  expect(named).not.toContain('/account/data/download')
  for (const text of [told, status.stdout]) expect(text).toContain(`Each of these pages asks all of them: ${named.join(', ')}.`)
  const without = await startServer({ SECRET_KEY: server.settings['SECRET_KEY'], WITHOUT: 'latchkey-own-data' }, { database })
  const there = await (await signedIn(without)).get(`${without.url}/admin`)
  const codes = ({ body: text }: { body: string }) => [.../These pages ask every server:(.*)$/m.exec(text)![1]!.matchAll(/<code>([^<]*)/g)].map(([, path]) => path)
  expect([codes({ body }), codes(there)]).toEqual([pagesEverywhere([...LEFT_OUT]), named])
}) // prettier-ignore

test('the pages that ask every server are those that are named', async () => {
  const { asked } = kernelOf(server.server).database.distribution!
  const sum = (): number => EVERYWHERE.lists.reduce((total, name) => total + asked.get(name)!, 0)
  const [{ id } = { id: '' }] = await database.query<{ id: string }>(
    `select id from users where username = '${ALICE.username}'`,
  )
  const asking = new Set<string>()
  const query = new URLSearchParams({ id, client_id: WEB.client_id, user: id, client: WEB.client_id })
  const pages = routesOf(server.server)
    .filter(({ url, methods }) => methods.includes('GET') && /^\/(?:account|admin)\b/.test(url))
    .map(({ url }) => (url.length > 1 && url.endsWith('/') ? url.slice(0, -1) : url))
  expect(pages.length).toBeGreaterThan(30)
  for (const page of new Set(pages)) {
    const before = sum()
    const { status, url } = await root.get(`${server.url}${page}?${query.toString()}`)
    expect([page, status < 500]).toEqual([page, true])
    // Some lead to a page that does.
    if (sum() > before) asking.add(new URL(url).pathname)
  }
  expect([...asking].toSorted()).toEqual(pagesEverywhere([...LEFT_OUT]).toSorted())
  const counted = await valuesOf('latchkey_everywhere_statements_total')
  expect(counted).toEqual({ endings: 0, janitor: expect.any(Number) as number, lists: sum() })
})

test('what was left prepared is told, and for how long', async () => {
  await execute(
    own.url,
    `begin; insert into authorizations (id, client_id, subject, scopes, resources, parameters)
      values (gen_random_uuid(), 'web', 'somebody', '{}', '{}', '{}'); prepare transaction 'left'`,
  )
  // The same row of the catalogue, an hour older.
  await execute(
    own.url,
    `create view pg_prepared_xacts as select transaction, gid, prepared - interval '1 hour' as prepared, owner, database
      from pg_catalog.pg_prepared_xacts`,
  )
  await execute(own.url, `alter database postgres set search_path = public, pg_catalog`)
  later()
  expect(await valuesOf('latchkey_prepared_transactions')).toEqual({ front: 0, 1: 0, 2: 0, 3: 1 })
  const ages = await valuesOf('latchkey_prepared_transactions_age_seconds')
  expect(ages).toMatchObject({ front: 0, 1: 0, 2: 0 })
  expect(ages['3']).toBeGreaterThanOrEqual(3600)
  expect((await dashboardOf()).body).toMatch(
    /Look at this:<\/strong> 1 prepared transaction waits for 3,6\d\d s/,
  )
  expect((await doctor())[0]).toMatch(
    /^warn {2}distribution: shard 3 \(.*\) has a prepared transaction that waits, for 36\d\d s: who asks for its rows gets 503\. End each by commit or rollback prepared\.$/,
  )
  const { stdout } = await runCommandHere(['distribute', 'status'], server.settings)
  expect(stdout).toMatch(
    / {2}1 transactions are prepared there and wait for their end, the oldest for 36\d\d s/,
  )
  await execute(own.url, `rollback prepared 'left'`)
})

test('a server that lacks tables is told of', async () => {
  await second.query('alter table access_tokens rename to elsewhere')
  later()
  expect((await dashboardOf()).body).toContain('</strong> lacks tables of ours: restore its backup')
  expect((await doctor())[0]).toMatch(/^fail {2}distribution: shard 2 .* lacks tables of ours/)
  await second.query('alter table elsewhere rename to access_tokens')
})

test.each([
  ['stalls', async () => Promise.resolve(third.stall()), 'no answer in'],
  ['is cut off', async () => (await third.restore(), third.cut()), 'ECONNREFUSED'],
])('one that %s keeps nobody waiting, and all three tell of it', async (_what, fail, why) => {
  await fail()
  later()
  expect(await valuesOf('latchkey_distribution_server_up')).toEqual({ 1: 1, 2: 1, 3: 0 })
  expect(Object.keys(await valuesOf('latchkey_prepared_transactions')).toSorted()).toEqual(['1', '2', 'front'])
  const page = await dashboardOf()
  expect(page.status).toBe(200)
  expect(page.body).toMatch(
    new RegExp(`shard 3 \\([^)]*\\)</dt>\\n<dd><strong class="problem">Look at this:</strong> does not answer \\(<bdi>${why}`),
  )
  expect((await doctor())[0]).toMatch(new RegExp(`^fail {2}distribution: shard 3 .* does not answer \\(${why}`))
}) // prettier-ignore

test('without the one in front, metrics are told all the same', async () => {
  const front = await startDatabaseProxy(database.url)
  const behind = await startServer(
    { METRICS_PORT: await freePort(), DATABASE_URL: front.url, SECRET_KEY: server.settings['SECRET_KEY']! },
    { database },
  )
  front.stall()
  later()
  const found = await metricsOf(behind)
  const names = new Set(found.map(({ name }) => name))
  expect([names.has('latchkey_database_connections'), names.has(NAMES[0]!)]).toEqual([true, false])
  await front.restore()
})
