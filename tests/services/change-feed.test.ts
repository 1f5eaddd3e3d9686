import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client as Connection } from 'pg'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { createChangeFeed } from '../../src/services/change-feed.ts'
import { persistChange, recordChange, recordChanges, statements } from '../../src/store/changes.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { passTime, stopClock } from '../support/clocks.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { recordingLog } from '../support/log.ts'

let testDatabase: TestDatabase
let database: Database
const { log, output } = recordingLog()

beforeAll(async () => {
  testDatabase = await createDatabase()
  database = await openDatabase({ url: testDatabase.url })
  atEndOfFile(() => database.close())
})
afterEach(() => void vi.useRealTimers())

/** A started feed that keeps the keys of the changed clients, in the order in which they came. */
async function startFeed(through: Database = database) {
  const keys: string[] = []
  const feed = createChangeFeed(through, log)
  feed.on('client', ({ key }) => void keys.push(key))
  await feed.start()
  atEndOfFile(() => feed.stop())
  return { feed, keys }
}

test('a change of any process arrives, once, however it was written', async () => {
  const { keys } = await startFeed()
  await recordChange(database.query, 'client', 'by-statement')
  await database.transactional(async (em) => persistChange(em, 'client', 'by-orm'))
  await expect.poll(() => keys.toSorted()).toEqual(['by-orm', 'by-statement'])
  await recordChange(database.query, 'client', 'later')
  await expect.poll(() => keys).toContain('later')
  expect(keys).toHaveLength(3)
})

test('what is kept whole is read once for all changes that come together', async () => {
  const { feed, keys } = await startFeed()
  let reloads = 0
  const read: string[] = []
  feed.onAny('client', async (keys) => void (reloads++, read.push(...keys)))
  await database.transaction(async (query) => {
    for (let at = 0; at < 300; at++) await recordChange(query, 'client', `of-many-${at}`)
  })
  await expect.poll(() => keys.filter((key) => key.startsWith('of-many-')).length).toBe(300)
  await expect.poll(() => reloads).toBe(1)
  await feed.announce('client', 'by-itself')
  expect(reloads).toBe(2)
  await feed.announceAll('client', ['together', 'with another', 'together'])
  expect([reloads, read.length, read.slice(-3)]).toEqual([3, 303, ['by-itself', 'together', 'with another']])
})

test('a change that rolls back never arrives, and other kinds are for others', async () => {
  const { keys } = await startFeed()
  const failing = database.transaction(async (query) => {
    await recordChange(query, 'client', 'rolled-back')
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  await recordChange(database.query, 'scope', 'a-scope')
  await recordChange(database.query, 'client', 'marker')
  await expect.poll(() => keys).toContain('marker')
  expect(keys).not.toContain('rolled-back')
  expect(keys).not.toContain('a-scope')
})

test('a transaction that began before others and commits after them is not missed', async () => {
  const slow = new Connection({ connectionString: testDatabase.url })
  await slow.connect()
  await slow.query('begin')
  await slow.query(`insert into changes (id, kind, key) values (gen_random_uuid(), 'client', 'slow')`)
  const { keys } = await startFeed()
  await recordChange(database.query, 'client', 'quick')
  await expect.poll(() => keys).toContain('quick')
  expect(keys).not.toContain('slow')
  await slow.query('commit')
  await slow.end()
  await expect.poll(() => keys).toContain('slow')
})

/** By its clock, each poll is a minute after the one before; `polls` has how many rows each has read. */
function hasten(through: Database) {
  const polls: number[] = []
  const hasty: Database = {
    ...through,
    async query(statement, values) {
      const rows = await through.query(statement, values)
      if ((statement as object) !== statements.since) return rows
      polls.push((rows as { id: string | null }[]).filter(({ id }) => id !== null).length)
      for (const row of rows as { now: Date }[]) row.now = new Date(row.now.getTime() + 60_000)
      return rows
    },
  }
  return { hasty, polls }
}

/** As docs/rotate.md has it: another role to log in by, for the same. */
async function openByAnotherRole(): Promise<Database> {
  const url = new URL(testDatabase.url)
  const role = `b_${randomUUID()}`
  await testDatabase.query(`create role "${role}" login password 'b' in role "${url.username}"`)
  await testDatabase.query(`alter role "${role}" set role "${url.username}"`)
  Object.assign(url, { username: role, password: 'b' })
  const byAnother = await openDatabase({ url: url.href })
  atEndOfFile(async () => {
    await byAnother.close()
    await testDatabase.query(`drop role "${role}"`)
  })
  return byAnother
}

test.each([
  ['of its role', async () => database],
  ['of a role that took its turn', openByAnotherRole],
])('one %s that goes on for longer than a feed looks back is not missed either', async (whose, open) => {
  const through = await open()
  const key = `of a long one ${whose}`
  const { hasty, polls } = hasten(through)
  const { keys } = await startFeed(hasty)
  await through.transaction(async (query) => {
    await recordChange(query, 'client', key)
    const before = polls.length
    await expect.poll(() => polls.length).toBeGreaterThan(before + 2)
    expect(keys).not.toContain(key)
  })
  await expect.poll(() => keys).toContain(key)
})

test('what somebody else holds open has nothing read again', async () => {
  const { hasty, polls } = hasten(database)
  const { keys } = await startFeed(hasty)
  const batch = new Connection({ connectionString: testDatabase.url })
  await batch.connect()
  await batch.query('begin')
  await batch.query('select pg_current_xact_id()')
  await recordChanges(database.query, 'client', ['meanwhile', 'meanwhile'])
  await expect.poll(() => keys).toContain('meanwhile')
  const before = polls.length
  await expect.poll(() => polls.length).toBeGreaterThan(before + 2)
  expect(polls.slice(before)).toEqual(polls.slice(before).map(() => 0))
  await batch.end()
})

test('a transaction whose number one had before that got lost with its server is not missed', async () => {
  const after = '9000000000000000000'
  const takenOver: Database = {
    ...database,
    async query(statement, values) {
      const rows = await database.query(statement, values)
      if ((statement as object) === statements.since)
        for (const row of rows as { snapshot: string }[]) row.snapshot = `${after}:${after}:`
      return rows
    },
  }
  const { keys } = await startFeed(takenOver)
  await recordChange(database.query, 'client', 'of the standby')
  await expect.poll(() => keys).toContain('of the standby')
})

test('a change has the time at which it was written, and not that at which its transaction began', async () => {
  await database.transaction(async (query) => {
    await recordChange(query, 'client', 'written')
    await recordChanges(query, 'client', ['written'])
  })
  await database.transactional(async (em) => persistChange(em, 'client', 'written'))
  // Whatever has one and the same transaction began at one and the same time.
  const rows = await testDatabase.query(`select distinct xmin, changed_at from changes where key = 'written'`)
  expect(rows).toHaveLength(3)
})

test('a change of this process is applied at once', async () => {
  const { feed, keys } = await startFeed()
  await feed.announce('client', 'mine')
  expect(keys.at(-1)).toBe('mine')
})

test('after a gap as long as half of what is kept, everything is loaded anew', async () => {
  let ahead = 0
  const shifted: Database = {
    ...database,
    query: async (statement, values) => {
      const rows = await database.query(statement, values)
      if ((statement as object) === statements.since)
        for (const row of rows as { now: Date }[]) row.now = new Date(row.now.getTime() + ahead)
      return rows
    },
  }
  const { feed, keys } = await startFeed(shifted)
  const reload = vi.fn(async () => {})
  feed.onGap(reload)
  ahead = 29 * 60_000
  await recordChange(database.query, 'client', 'x')
  await expect.poll(() => keys).toContain('x')
  expect(reload).not.toHaveBeenCalled()
  ahead += 31 * 60_000
  await expect.poll(() => reload.mock.calls.length).toBe(1)
})

test('without a successful poll for a minute nothing may be decided', async () => {
  const { feed } = await startFeed()
  expect(() => feed.assertFresh()).not.toThrow()
  await feed.stop()
  passTime(30_000)
  expect(() => feed.assertFresh()).not.toThrow()
  passTime(31_000)
  expect(() => feed.assertFresh()).toThrow(
    expect.objectContaining({ status: 503, headers: { 'retry-after': '5' } }),
  )
  expect(feed.age()).toBeGreaterThan(60)
})

test('a clock that is set makes nothing stale, and nothing fresh again', async () => {
  const { feed } = await startFeed()
  await feed.stop()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  expect(() => feed.assertFresh()).not.toThrow()
  expect(feed.age()).toBeLessThan(60)
  passTime(61_000)
  vi.setSystemTime(Date.now() - 7_200_000)
  expect(() => feed.assertFresh()).toThrow(expect.objectContaining({ status: 503 }))
})

test('a database that goes away is logged once, and once when it is back', async () => {
  let away = false
  const broken: Database = {
    ...database,
    query: async (...call) => (away ? Promise.reject(new Error('gone')) : database.query(...call)),
  }
  await startFeed(broken)
  away = true
  await expect.poll(output).toContain('the database does not answer')
  away = false
  await expect.poll(output).toContain('the database answers again')
  expect(output().match(/does not answer/g)).toHaveLength(1)
})

test('a change that cannot be applied is no database that is away, and is applied when it can be', async () => {
  const { feed } = await startFeed()
  let broken = true
  const applied: string[] = []
  feed.on('upstream', ({ key }) => {
    if (broken) throw new Error('no key fits')
    applied.push(key)
  })
  const from = output().length
  await recordChange(database.query, 'upstream', 'corp')
  await expect.poll(() => output().slice(from)).toContain('were read, and could not be applied')
  expect(output().slice(from)).toContain('no key fits')
  expect(output().slice(from)).not.toContain('does not answer')
  broken = false
  await expect.poll(() => applied).toContain('corp')
})

test('who stood still polls before it decides, and who could not poll is not waited for again', async () => {
  let [away, polls] = [false, 0]
  const watched: Database = {
    ...database,
    query: async (...call) => {
      polls++
      return away ? Promise.reject(new Error('gone')) : database.query(...call)
    },
  }
  const { feed, keys } = await startFeed(watched)
  expect(feed.catchUp()).toBeUndefined()
  await recordChange(database.query, 'client', 'meanwhile')
  passTime(61_000)
  const [first, second] = [feed.catchUp(), feed.catchUp()]
  expect(() => feed.assertFresh()).toThrow(expect.objectContaining({ status: 503 }))
  await first
  await second
  expect(keys).toContain('meanwhile')
  expect(() => feed.assertFresh()).not.toThrow()
  expect(feed.catchUp()).toBeUndefined()

  away = true
  passTime(61_000)
  await feed.catchUp()
  const asked = polls
  expect(feed.catchUp()).toBeUndefined()
  expect(polls).toBe(asked)
  expect(() => feed.assertFresh()).toThrow(expect.objectContaining({ status: 503 }))
})

/** Open ones, as far as the feed knows. */
const CONNECTIONS = 10

/** A feed whose polls fail while `state.failures` is above zero, each at once. */
async function startFailing() {
  const state = { failures: 0, onFailure: (): void => {} }
  const watched: Database = {
    ...database,
    connections: () => ({ total: CONNECTIONS, idle: CONNECTIONS, waiting: 0 }),
    async query(...call) {
      if (state.failures-- <= 0) return database.query(...call)
      setTimeout(state.onFailure)
      await sleep(5)
      throw new Error('gone')
    },
  }
  return { state, ...(await startFeed(watched)) }
}

test.each([1, CONNECTIONS])(
  'who stood still while %i of its connections ended polls by a new one',
  async (ended) => {
    const { state, feed } = await startFailing()
    state.failures = ended
    passTime(61_000)
    await stopClock(async () => feed.catchUp())
    expect(() => feed.assertFresh()).not.toThrow()
  },
)

test('who comes while the connections that ended are tried waits for that, too', async () => {
  const { state, feed } = await startFailing()
  const asked: (Promise<void> | undefined)[] = []
  // Between one try and the next, whoever comes.
  state.onFailure = () => void asked.push(feed.catchUp())
  state.failures = 3
  passTime(61_000)
  await stopClock(async () => feed.catchUp())
  expect(asked).toHaveLength(3)
  for (const waiting of asked) {
    expect(waiting).toBeDefined()
    await waiting
  }
  expect(() => feed.assertFresh()).not.toThrow()
})

test('what failed before it stood still says nothing of now', async () => {
  const { state, feed } = await startFailing()
  state.failures = 1
  await expect.poll(() => state.failures).toBeLessThanOrEqual(0)
  passTime(61_000)
  await feed.catchUp()
  expect(() => feed.assertFresh()).not.toThrow()
})

test('a machine that slept is told by the clock of the day, and who asks waits for a poll', async () => {
  const { feed, keys } = await startFeed()
  await recordChange(database.query, 'client', 'while it slept')
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  await feed.catchUp()
  expect(keys).toContain('while it slept')
  expect(feed.catchUp()).toBeUndefined()
})

test('a machine that slept, and finds no database, decides nothing from before', async () => {
  const { state, feed } = await startFailing()
  state.failures = Infinity
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  await feed.catchUp()
  expect(() => feed.assertFresh()).toThrow(expect.objectContaining({ status: 503 }))
  state.failures = 0
  await expect.poll(() => feed.assertFresh()).toBeUndefined()
})

test('a feed whose first read fails does not start', async () => {
  const nowhere: Database = { ...database, query: () => Promise.reject(new Error('gone')) }
  await expect(createChangeFeed(nowhere, log).start()).rejects.toThrow('gone')
  expect(() => createChangeFeed(database, log).assertFresh()).toThrow('has not answered')
})
