/** DATABASE_REPLICA_URL: what people are shown of it, what it is never asked, and what becomes of lists when it is no good. */
import { beforeEach, expect, inject, test, vi } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { shown, statement } from '../../src/store/statement.ts'
import { MOST_BEHIND } from '../../src/services/listings.ts'
import { openReplica } from '../../src/store/replica.ts'
import { runCommandHere } from '../support/command-here.ts'
import { execute, withDatabase } from '../support/connection.ts'
import { JOURNEY_SEED, journeysOf } from '../support/journeys.ts'
import { startReplicated } from '../support/replica.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { until } from '../support/until.ts'
import type { Page } from '../support/user-agent.ts'
import { register, ROOT, signedIn } from '../plugins/admin/administrator.ts'

/** All that a replica may ever be asked. */
const MARKED = [
  'activity-since', 'audit-events-by-client', 'audit-events-by-request', 'audit-events-by-type', 'audit-events-by-user',
  'audit-events-list', 'clients-list', 'clients-listed', 'clients-search', 'figures-counts', 'users-list', 'users-search',
] // prettier-ignore
/** What tells how it is. */
const ABOUT_IT = /^(?:replica-state|select name, direct, since, )/

const replicated = await startReplicated()
const { primary, standby, proxy } = replicated
const database = { url: primary.url, query: async () => [], drop: async () => {} }
const server = await startServer(
  {
    DATABASE_URL: primary.url,
    DATABASE_REPLICA_URL: proxy.url,
    LOG_LEVEL: 'info',
    METRICS_PORT: await freePort(),
  },
  { seed: { ...JOURNEY_SEED, users: [...JOURNEY_SEED.users, ROOT] }, database },
)
const kernel = kernelOf(server.server)
const { listings } = kernel
const agent = await signedIn(server)
const open = async (path: string): Promise<Page> => agent.get(`${server.url}/admin${path}`)
const LISTS = [
  '',
  '/users',
  '/users?search=ro',
  '/clients',
  '/clients?search=we',
  '/audit',
  '/audit/export?format=csv',
] as const

const state = async (problem: RegExp | null): Promise<void> =>
  until(() => {
    const now = listings.state()!.problem
    if (problem === null ? now !== null : !problem.test(now ?? '')) throw new Error(`it is: ${now}`)
  })
const linesOf = (text: string): number => server.output().split(text).length - 1
/** How often it was asked what lists show. */
const countAsked = async (): Promise<number> =>
  (await replicated.asked()).filter((one) => MARKED.includes(one)).length

/** What doctor finds of it. */
const says = async (): Promise<string[]> => {
  const { stdout } = await runCommandHere(['doctor', '--json'], server.settings)
  const { findings } = JSON.parse(stdout) as { findings: { check: string; status: string; says: string }[] }
  return findings
    .filter(({ check }) => check === 'replica')
    .map(({ status, says: text }) => `${status} ${text}`)
}

beforeEach(async () => {
  await proxy.restore(standby.url)
  await state(null)
  await replicated.caughtUp()
})

test('lists, the audit log and the dashboard come from it, and say nothing of their age while it is close', async () => {
  for (const path of LISTS) {
    const before = await countAsked()
    const page = await open(path)
    expect([path, page.status]).toEqual([path, 200])
    expect(page.body).not.toContain('id="behind"')
    await expect.poll(countAsked).toBeGreaterThan(before)
  }
  expect((await open('')).body).toMatch(/is up to date/)
  expect(linesOf('lists are read from the replica')).toBeLessThanOrEqual(1)
})

test('it is asked nothing but what is marked: no token, no sign-in, no consent, nothing of a page that acts', async () => {
  const step = await journeysOf(server)
  for (let done = 0; done < 25; done++) expect((await step()).outcome).toBe('ok')
  const before = await countAsked()
  const page = await register(server, agent, 'service', { client_name: 'Reports', scope: 'read_shelf' })
  expect(page.status).toBe(200)
  for (const path of [
    '/keys',
    '/deliveries',
    '/scopes',
    '/client?client_id=web',
    '/client/authorizations?client_id=web',
  ])
    expect((await open(path)).status).toBe(200)
  expect(await countAsked()).toBe(before)
  for (const path of LISTS) await open(path)
  const others = (await replicated.asked()).filter((one) => !MARKED.includes(one) && !ABOUT_IT.test(one))
  expect(others).toEqual([])
})

test('nothing that decides is ever sent to a replica', async () => {
  const replica = openReplica({ url: standby.url })
  await expect(replica.query(statement('token', () => 'select 1'))).rejects.toThrow('token decides')
  await replica.close()
})

test('whoever has just written sees it at once, and others see how old a list is', async () => {
  await replicated.pause()
  await execute(primary.url, `insert into users (id, username, username_key) values (gen_random_uuid(), 'late', 'late')`)
  const stranger = await signedIn(server)
  const behind = async (): Promise<Page> => stranger.get(`${server.url}/admin/users`)
  await until(async () => {
    if (!(await behind()).body.includes('id="behind"')) throw new Error('it is not behind')
  })
  const page = await behind()
  expect(page.body).toMatch(/This is from <time datetime="[^"]+"><bdi>\d\d:\d\d:\d\d UTC<\/bdi><\/time>, \d+ seconds ago\. Load the page again for what came since\./)
  expect(page.body).not.toContain('>late<')
  for (const path of LISTS.slice(0, 6)) expect((await stranger.get(`${server.url}/admin${path}`)).body).toContain('id="behind"')
  const file = await stranger.get(`${server.url}/admin/audit/export?format=csv`)
  expect(Date.parse(file.headers.get('last-modified')!)).toBeLessThan(Date.now() - 1000)

  await agent.submit(await open('/users/new'), 'user', { username: 'mine' })
  const own = await open('/users')
  expect(own.body).toContain('>mine<')
  expect(own.body).not.toContain('id="behind"')
  await replicated.resume()
  await replicated.caughtUp()
  const before = await countAsked()
  expect((await open('/users')).body).toContain('>mine<')
  await expect.poll(countAsked).toBe(before + 1)
}) // prettier-ignore

test('one that is away, or stands still, costs no page, and one line', async () => {
  await proxy.cut()
  for (const path of LISTS) expect([path, (await open(path)).status]).toEqual([path, 200])
  await state(/^does not answer/)
  expect((await open('')).body).toContain('is not used, lists come from the primary')
  expect(linesOf('the replica does not answer (ECONNREFUSED)')).toBe(1)
  await proxy.restore(standby.url)
  await state(null)
  proxy.stall()
  const during = await Promise.all(LISTS.map(open))
  expect(during.map(({ status }) => status)).toEqual(LISTS.map(() => 200))
  await proxy.restore(standby.url)
})

test('what it cancels since it is in the way of replaying is read from the primary', async () => {
  const listing = await listings.open()
  const slow = shown(statement<{ n: number }>('slow', () => 'select count(*)::int as n from in_the_way, pg_sleep(n)'))
  await execute(primary.url, 'create table in_the_way as select 20 as n')
  await replicated.caughtUp()
  const asked = listing.query(slow)
  await until(async () => {
    const [row] = await execute<{ n: number }>(standby.url, `select count(*)::int as n from pg_stat_activity where query like '%in_the_way%pg_sleep%' and pid <> pg_backend_pid()`)
    if (row!.n === 0) throw new Error('it is not asked yet')
  })
  await execute(primary.url, 'truncate in_the_way')
  expect(await asked).toEqual([{ n: 0 }])
  expect(linesOf('the replica does not answer (40001)')).toBe(1)
}) // prettier-ignore

test('what is cancelled there by hand is read from the primary', async () => {
  const listing = await listings.open()
  const slow = shown(statement<{ n: number }>('by hand', () => 'select pg_is_in_recovery()::int as n, pg_sleep(case when pg_is_in_recovery() then 20 else 0 end)'))
  const asked = listing.query(slow)
  await until(async () => {
    const [row] = await execute<{ done: boolean | null }>(standby.url, `select bool_or(pg_cancel_backend(pid)) as done from pg_stat_activity where query like '%pg_is_in_recovery()::int%' and pid <> pg_backend_pid()`)
    if (row!.done !== true) throw new Error('it is not asked yet')
  })
  expect(await asked).toMatchObject([{ n: 0 }])
  expect(linesOf('the replica does not answer (57014)')).toBe(1)
}) // prettier-ignore

test('one that is more than a minute behind is not asked until it has caught up, and metrics say so', async () => {
  const metrics = async (): Promise<(number | undefined)[]> => {
    const text = await server.server.metrics!.text()
    return ['latchkey_replica_used', 'latchkey_replica_behind_seconds'].map((name) => {
      const [, value] = new RegExp(`^${name} (\\S+)$`, 'm').exec(text) ?? []
      return value === undefined ? undefined : Number(value)
    })
  }
  expect(await metrics()).toEqual([1, 0])
  await replicated.pause()
  await execute(
    primary.url,
    `insert into users (id, username, username_key) values (gen_random_uuid(), 'later', 'later')`,
  )
  // The primary's clock, which tells how far it is behind.
  const { query } = kernel.database
  const ahead = vi.spyOn(kernel.database, 'query').mockImplementation(async (one, values) => {
    const rows = await query(one, values)
    if (one.name === 'primary-position') for (const row of rows as { at: number }[]) row.at += MOST_BEHIND
    return rows
  })
  await state(/^is more than a minute behind/)
  const [used, behind] = await metrics()
  expect([used, behind! > 60]).toEqual([0, true])
  const before = await countAsked()
  expect((await open('/users?search=later')).body).toContain('>later<')
  expect(await countAsked()).toBe(before)
  ahead.mockRestore()
  await replicated.resume()
  await state(null)
  expect(await metrics()).toEqual([1, 0])
  await proxy.cut()
  await state(/^does not answer/)
  expect(await metrics()).toEqual([0, undefined])
})

test('one that lacks migrations, or all our tables, is not asked, and doctor says so', async () => {
  expect((await says())[0]).toMatch(/^ok The replica at \S+ is \d+ s behind\.$/)

  await execute(primary.url, `update migrations set name = 'Other_' || name where name = (select max(name) from migrations)`)
  await replicated.caughtUp()
  await replicated.pause()
  await execute(primary.url, `update migrations set name = substr(name, 7) where name like 'Other\\_%'`)
  await state(/^lacks migrations/)
  expect((await says())[0]).toMatch(/^warn The replica at \S+ lacks migrations of this version: it has them when/)
  await replicated.resume()
  await state(null)

  await proxy.cut()
  await proxy.restore(withDatabase(inject('templateUrl'), 'postgres'))
  await state(/^has no tables of ours/)
  expect((await says())[0]).toMatch(/^warn The replica at \S+ has no tables of ours, so lists come from the primary: see /)
  await proxy.cut()
  expect((await says())[0]).toMatch(/^warn The replica at \S+ does not answer \(ECONNREFUSED\), so lists come/)
  for (const path of LISTS) expect((await open(path)).status).toBe(200)
}) // prettier-ignore

test('a replica of another database is not asked, nor one that has become a primary', async () => {
  const other = await startReplicated()
  const foreign = await startServer({ DATABASE_URL: other.primary.url }, { database: { ...database, url: other.primary.url } })
  await foreign.close()
  await other.caughtUp()
  await proxy.cut()
  await proxy.restore(other.standby.url)
  await state(/^is one of another database/)
  expect((await open('/users')).body).toContain('>root<')

  await proxy.cut()
  await proxy.restore(standby.url)
  await state(null)
  await execute(standby.url, 'select pg_promote()')
  await state(/^takes writes itself/)
  for (const path of LISTS) expect((await open(path)).status).toBe(200)
  expect(linesOf('takes writes itself')).toBe(1)
  expect((await says())[0]).toMatch(/^warn The server at \S+ is no replica/)
}) // prettier-ignore
