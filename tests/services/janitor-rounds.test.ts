/** How the janitor works: in bounded batches, beside others, stopped in between, and while the database is away. */
import { beforeEach, expect, test } from 'vitest'
import { withClient } from '../../src/store/connections.ts'
import type { Database } from '../../src/store/database.ts'
import { statements as authorizations } from '../../src/store/dead-authorizations.ts'
import type { Removed } from '../../src/store/expired.ts'
import {
  ALIVE, countOf, createDatabaseForRows, DAY, DEAD, deadFamily, empty, fill, fillFamilies, janitorOf, openAs, repeat,
  TABLES,
} from '../support/expired-rows.ts' // prettier-ignore
import { recordingLog } from '../support/log.ts'
import { startServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const rows = await createDatabaseForRows()
const { query } = rows
const database = await openAs(rows)
const janitor = janitorOf(database)
const count = async (table: string): Promise<number> => countOf(rows, table)

beforeEach(() => empty(rows))

/** Tells how many rows each statement in a transaction removed. */
function counting(of: Database, sizes: number[], after?: () => unknown): Database {
  return {
    ...of,
    transaction: async (work) =>
      of.transaction(async (inner) =>
        work(async (statement, values) => {
          const rows = await inner(statement, values)
          sizes.push((rows[0] as unknown as Removed).removed)
          after?.()
          return rows
        }),
      ),
  }
}

test('one round removes all there is, and no statement more than 500 rows', async () => {
  for (const table of TABLES) await fill(rows, table, [...repeat(1234, DEAD), ...repeat(3, ALIVE)])
  await fillFamilies(rows, Array.from({ length: 701 }, deadFamily))
  const sizes: number[] = []
  const counts = await janitorOf(counting(database, sizes)).round()
  expect(Math.max(...sizes)).toBe(500)
  for (const { table } of TABLES) expect([table, await count(table)]).toEqual([table, 3])
  expect(await count('authorizations')).toBe(0)
  expect(await count('refresh_tokens')).toBe(0)
  expect(counts).toEqual({
    artifacts: 1234, auditEvents: 1234, activity: 1234, accessTokens: 1234, revokedTokens: 1234, sessions: 1234, changes: 1234, throttles: 1234, spentHandles: 1234, outbox: 1234, recipients: 1234, securityEvents: 1234, pendingSessions: 1234, initialTokens: 1234, clientDocuments: 1234, consents: 1234,
    codes: 1234 + 701, refreshTokens: 701, authorizations: 701,
  }) // prettier-ignore
})

test('what somebody still waited for does not go without a word', async () => {
  const { log, output } = recordingLog()
  for (const table of TABLES) await fill(rows, table, [...repeat(3, DEAD), ...repeat(3, ALIVE)])
  const told = () => output().match(/"count":.*/g) ?? []
  await janitorOf(database, { log }).round()
  await janitorOf(database, { log }).round()
  expect(told()).toEqual([expect.stringContaining('"count":3,"msg":"security events expired before their receivers took them"')])
}) // prettier-ignore

test('three at once remove each row once and disturb nobody', async () => {
  const living = { ...deadFamily(), refresh: DAY }
  for (const table of TABLES) await fill(rows, table, [...repeat(2000, DEAD), ...repeat(7, ALIVE)])
  await fillFamilies(rows, [living, ...Array.from({ length: 1500 }, deadFamily)])
  const janitors = [janitor, janitorOf(await openAs(rows)), janitorOf(await openAs(rows))]
  const counts = await Promise.all(janitors.map(async (one) => one.round()))
  const sum = (name: string): number => counts.reduce((all, one) => all + (one[name] ?? 0), 0)
  for (const { table } of TABLES) {
    const more = table === 'authorization_codes' ? 1 : 0
    expect([table, await count(table)]).toEqual([table, 7 + more])
  }
  expect(await query('select id from authorizations')).toEqual([{ id: living.id }])
  expect(await count('refresh_tokens')).toBe(1)
  expect(['artifacts', 'codes', 'refreshTokens', 'authorizations'].map(sum)).toEqual([2000, 3500, 1500, 1500])
})

const leftOfFamilies = async (): Promise<number[]> =>
  Promise.all(['authorizations', 'refresh_tokens', 'authorization_codes'].map(count))

test('stopped in between, it leaves what the next one needs to find the rest', async () => {
  await fillFamilies(rows, Array.from({ length: 500 }, deadFamily))
  const sizes: number[] = []
  const stopped = janitorOf(
    counting(database, sizes, () => {
      if (sizes.at(-1) === 500) void stopped.stop()
    }),
  )
  await stopped.round()
  expect(await leftOfFamilies()).toEqual([500, 0, 500])
  await janitor.round()
  expect(await leftOfFamilies()).toEqual([0, 0, 0])
})

test('an Authorization is not removed before all that goes with it, whoever is at work on that', async () => {
  const family = deadFamily()
  await fillFamilies(rows, [family])
  for (const left of ['refresh_tokens', 'authorization_codes', 'nothing']) {
    const rows = await database.query(authorizations.remove, [[family.id]])
    expect([left, rows]).toEqual([left, [{ removed: left === 'nothing' ? 1 : 0 }]])
    if (left !== 'nothing') await query(`delete from ${left}`)
  }
})

test('an artifact that is put again under its handle while it is removed stays', async () => {
  const [artifacts] = TABLES
  await fill(rows, artifacts!, [DEAD])
  let round: Promise<unknown> | undefined
  await withClient(rows, async (holder) => {
    await holder.query('begin')
    await holder.query(`update artifacts set expires_at = now() + interval '1 hour'`)
    round = until(async () => janitor.round())
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await expect.poll(async () => (await query(waiting)).length).toBe(1)
    await holder.query('commit')
  })
  await round
  expect(await count('artifacts')).toBe(1)
})

test('between statements it rests, and is stopped there too', async () => {
  const [artifacts] = TABLES
  await fill(rows, artifacts!, repeat(1234, DEAD))
  const resting = janitorOf(database, { interval: 0.01, budget: 1e6, rest: 1e6 })
  resting.start()
  await expect.poll(async () => count('artifacts')).toBe(734)
  await resting.stop()
  expect(await count('artifacts')).toBe(734)
})

test('however long a statement took, it rests no longer than the round may take', async () => {
  const [artifacts] = TABLES
  await fill(rows, artifacts!, repeat(1234, DEAD))
  const resting = janitorOf(database, { interval: 0.01, budget: 50, rest: 1e6 })
  resting.start()
  await expect.poll(async () => count('artifacts')).toBe(0)
  await resting.stop()
})

test('after each round that left something over it comes soon, and rests half as long', async () => {
  const [artifacts] = TABLES
  await fill(rows, artifacts!, repeat(1234, DEAD))
  const { log, output } = recordingLog()
  const slow = janitorOf(database, { interval: 86_400, budget: 1, rest: 0.8, log })
  // One that has so little time may not come to them.
  const { artifacts: first = 0 } = await slow.round()
  expect(first).toBeLessThanOrEqual(500)
  slow.start()
  const told = (what: RegExp): number[] => [...output().matchAll(what)].map(([, number]) => Number(number))
  const removed = (): number => told(/"artifacts":(\d+)/g).reduce((sum, one) => sum + one, 0)
  await expect.poll(removed).toBe(1234 - first)
  expect(told(/"rest":([\d.]+)/g).slice(0, 2)).toEqual([0.4, 0.2])
  await slow.stop()
})

test('while the database is away it says so once, and goes on when it is back', async () => {
  let away = true
  let tries = 0
  const broken: Database = {
    ...database,
    transaction: async (work) => {
      tries++
      if (away) throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
      return database.transaction(work)
    },
  }
  const [artifacts] = TABLES
  await fill(rows, artifacts!, [DEAD])
  const { log, output } = recordingLog()
  const started = janitorOf(broken, { interval: 0.01, log })
  started.start()
  await expect.poll(() => tries).toBeGreaterThan(3)
  away = false
  await expect.poll(async () => count('artifacts')).toBe(0)
  await started.stop()
  expect(output().match(/could not be removed/g)).toHaveLength(1)
  expect(output()).toContain('"removed":{"artifacts":1')
})

test('what fails by itself keeps nobody from all the rest, and is told of', async () => {
  for (const table of TABLES) await fill(rows, table, repeat(1234, DEAD))
  const left = [3, 2, 0]
  const endings = {
    failing: () => Promise.reject(new Error('an ending of the test')),
    working: async () => left.shift() ?? 0,
  }
  await expect(janitorOf(database, { endings }).round()).rejects.toThrow('an ending of the test')
  for (const { table } of TABLES) expect([table, await count(table)]).toEqual([table, 0])
  expect(left).toEqual([])
})

test('a server looks after its database by itself', async () => {
  const server = await startServer({ OIDC_JANITOR_INTERVAL: 1 })
  const insert = `insert into artifacts (kind, hash, value, expires_at) values ('voucher', $1, '{}', now() + $2::interval)`
  await server.database.query(insert, ['dead', '-1 second'])
  await server.database.query(insert, ['alive', '1 day'])
  const left = async () => server.database.query('select hash from artifacts')
  await expect.poll(left).toEqual([{ hash: 'alive' }])
})
