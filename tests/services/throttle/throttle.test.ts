import { beforeEach, expect, test } from 'vitest'
import { createSecretBox } from '../../../src/services/keys/secret-box.ts'
import type { ReachedLimit } from '../../../src/services/throttle/reached-limits.ts'
import { createThrottles, type Throttle } from '../../../src/services/throttle/throttle.ts'
import type { ThrottleLimits } from '../../../src/services/throttle/throttle-limits.ts'
import { openDatabase, type Database } from '../../../src/store/database.ts'
import { atEndOfFile } from '../../support/cleanup.ts'
import { passTime } from '../../support/clocks.ts'
import { createDatabase, type TestDatabase } from '../../support/database.ts'
import { recordingLog } from '../../support/log.ts'

const HERE = '192.0.2.1'
const box = createSecretBox(['k'.repeat(40)])
/** Hours, so that no failure is forgotten meanwhile. */
const LIMITS: ThrottleLimits = {
  account: { failures: 3, recovery: 3600 },
  network: { failures: 5, recovery: 3600 },
}
let testDatabase: TestDatabase
let database: Database
/** The statements that ran, by name. */
let ran: string[]
/** What the audit log was told. */
let told: ReachedLimit[]

beforeEach(async () => {
  testDatabase = await createDatabase()
  const opened = await openDatabase({ url: testDatabase.url })
  ran = []
  told = []
  database = {
    ...opened,
    query: async (statement, values) => {
      ran.push(statement.name)
      return opened.query(statement, values)
    },
  }
  atEndOfFile(() => opened.close())
})

/** A process's throttle of one kind, without a poll. */
const createThrottle = (limits = LIMITS, kind = 'user'): Throttle => {
  const tell = (reached: ReachedLimit): void => void told.push(reached)
  return createThrottles({ database, box, log: recordingLog().log, tell }).throttle(kind, limits)
}

/** What an attempt that fails is answered with: 0 when it was counted, else the status. */
async function fail(throttle: Throttle, account: string | null, address = HERE): Promise<number> {
  try {
    await (await throttle.attempt(account, address)).failed()
    return 0
  } catch (error) {
    return (error as { status: number }).status
  }
}

async function failTimes(times: number, throttle: Throttle, account: string | null): Promise<number[]> {
  const answers: number[] = []
  while (answers.length < times) answers.push(await fail(throttle, account))
  return answers
}

test('an account is refused at its limit, others at the limit of the network', async () => {
  const throttle = createThrottle()
  expect(await failTimes(4, throttle, 'alice')).toEqual([0, 0, 0, 429])
  expect(await failTimes(3, throttle, 'bob')).toEqual([0, 0, 429])
  expect(await fail(throttle, 'alice', '192.0.2.2')).toBe(0)
})

test('where there is no account the network alone counts, and kinds count apart', async () => {
  const throttle = createThrottle()
  expect(await failTimes(6, throttle, null)).toEqual([0, 0, 0, 0, 0, 429])
  expect(await fail(createThrottle(LIMITS, 'device'), null)).toBe(0)
})

test('a refusal says when the next try may come, and then it may', async () => {
  const throttle = createThrottle({ ...LIMITS, account: { failures: 2, recovery: 0.2 } })
  await failTimes(2, throttle, 'alice')
  await expect(throttle.attempt('alice', HERE)).rejects.toMatchObject({
    code: 'temporarily_unavailable',
    status: 429,
    headers: { 'retry-after': '1' },
  })
  const attempt = async () => (await throttle.attempt('alice', HERE)).succeeded()
  await expect.poll(attempt, { interval: 20 }).toBeUndefined()
})

test('attempts that could all fail wait for those under way, and go on when these succeed', async () => {
  const throttle = createThrottle()
  const [first, ...more] = await Promise.all([1, 2, 3].map(async () => throttle.attempt('alice', HERE)))
  let admitted = 0
  const waiting = [4, 5, 6, 7].map(async () => {
    const attempt = await throttle.attempt('alice', HERE)
    admitted++
    attempt.succeeded()
  })
  await expect(Promise.race([...waiting, Promise.resolve('waits')])).resolves.toBe('waits')
  expect(admitted).toBe(0)
  first!.succeeded()
  await Promise.all(waiting)
  expect(admitted).toBe(4)
  for (const one of more) one.abandoned()
  expect(ran).toEqual([])
})

test('one that nobody settles, as where what it was for failed, keeps its place for no longer than a minute', async () => {
  const throttle = createThrottle()
  await Promise.all([1, 2, 3].map(async () => throttle.attempt('alice', HERE)))
  const waiting = throttle.attempt('alice', HERE)
  expect(await Promise.race([waiting, Promise.resolve('waits')])).toBe('waits')
  passTime(61_000)
  const attempt = await waiting
  await attempt.failed()
  expect((await throttle.attempt('alice', HERE)).succeeded()).toBeUndefined()
})

test('attempts that wait are refused when those under way reach the limit', async () => {
  const throttle = createThrottle()
  const underWay = await Promise.all([1, 2, 3].map(async () => throttle.attempt('alice', HERE)))
  const waiting = Promise.allSettled([4, 5].map(async () => throttle.attempt('alice', HERE)))
  await Promise.all(underWay.map(async (attempt) => attempt.failed()))
  expect((await waiting).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})

test('as many wait as may, of each network; who is one too many is refused at once', async () => {
  const throttle = createThrottle({ ...LIMITS, waiting: 2 })
  const [first] = await Promise.all([1, 2, 3].map(async () => throttle.attempt('alice', HERE)))
  const waiting = [4, 5].map(async () => throttle.attempt('alice', HERE))
  await expect(throttle.attempt('alice', HERE)).rejects.toMatchObject({ status: 503 })
  const elsewhere = [1, 2, 3, 4].map(async () => throttle.attempt('alice', '192.0.2.2'))
  await Promise.all(elsewhere.slice(0, 3))
  first!.succeeded()
  expect(await Promise.race(waiting)).toHaveProperty('failed')
})

test('an attempt is settled once, and abandoning it counts nothing', async () => {
  const throttle = createThrottle()
  const attempt = await throttle.attempt('alice', HERE)
  await attempt.failed()
  await attempt.failed()
  attempt.succeeded()
  const abandoned = await throttle.attempt('alice', HERE)
  abandoned.abandoned()
  await abandoned.failed()
  expect(ran).toEqual(['throttle-fail'])
  expect(await failTimes(3, throttle, 'alice')).toEqual([0, 0, 429])
})

test('what says nothing of its network counts for the account alone', async () => {
  const throttle = createThrottle({ ...LIMITS, everywhere: { failures: 20, recovery: 3600 } })
  const failAlone = async (account: string | null): Promise<void> =>
    (await throttle.attempt(account, HERE)).failed({ network: false })
  for (const account of ['alice', 'alice', 'alice', 'bob', 'bob', 'bob', null]) await failAlone(account)
  await expect(failAlone('alice')).rejects.toMatchObject({ status: 429 })
  expect(await failTimes(3, throttle, 'carol')).toEqual([0, 0, 0])
  expect(await failTimes(3, throttle, null)).toEqual([0, 0, 429])
})

test('of its network there may be so many of them as it has a limit for, which is of them alone', async () => {
  const throttle = createThrottle({ ...LIMITS, unanswered: { failures: 6, recovery: 3600 } })
  const failUnanswered = async (account: string | null, from = HERE): Promise<void> =>
    (await throttle.attempt(account, from)).failed({ network: false })
  expect(await failTimes(2, throttle, 'carol')).toEqual([0, 0])
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await failUnanswered(name)
  await expect(failUnanswered('g')).rejects.toMatchObject({ status: 429 })
  // Before anything is checked, so that a right one is refused, too.
  await expect(throttle.attempt('h', HERE)).rejects.toMatchObject({ status: 429 })
  await failUnanswered('g', '198.51.100.9')
})

test('a success forgives the account, not the network, and asks nothing where nothing failed', async () => {
  const throttle = createThrottle()
  const succeed = async () => (await throttle.attempt('alice', HERE)).succeeded()
  await succeed()
  expect(ran).toEqual([])
  await failTimes(2, throttle, 'alice')
  await succeed()
  await succeed()
  expect(ran).toEqual(['throttle-fail', 'throttle-fail', 'throttle-forgive'])
  await expect.poll(() => testDatabase.query('select account from throttles')).toEqual([{ account: '*' }])
  expect(await failTimes(4, throttle, 'alice')).toEqual([0, 0, 0, 429])
})

test('two processes reach one limit, and the second is told by its first failure', async () => {
  const [one, two] = [createThrottle(), createThrottle()]
  expect(await failTimes(2, one, 'alice')).toEqual([0, 0])
  expect(await failTimes(3, two, 'alice')).toEqual([0, 429, 429])
  expect(await fail(one, 'alice')).toBe(429)
  expect(ran.filter((name) => name === 'throttle-fail')).toHaveLength(4)
})

test('what the clock of the database counted while it was ahead keeps nobody out once it is right', async () => {
  expect(await fail(createThrottle(), 'alice')).toBe(0)
  await testDatabase.query(`update throttles set free_at = free_at + interval '1 day'`)
  const throttles = createThrottles({ database, box, log: recordingLog().log, tell: () => {} })
  await throttles.start()
  atEndOfFile(() => throttles.stop())
  const throttle = throttles.throttle('user', LIMITS)
  ;(await throttle.attempt('alice', HERE)).abandoned()
  // Nor does one more failure; by that the limit holds again, for as long as it takes to come back.
  expect(await failTimes(2, throttle, 'alice')).toEqual([0, 429])
  const over = `select account from throttles where free_at > now() + interval '1 hour'`
  expect(await testDatabase.query(over)).toEqual([])
})

test('parallel failures of one network lock each other out of nothing', async () => {
  const throttle = createThrottle({ ...LIMITS, network: { failures: 50, recovery: 3600 } })
  const names = Array.from({ length: 40 }, (_, at) => `user-${at}`)
  expect(await Promise.all(names.map(async (name) => fail(throttle, name)))).toEqual(names.map(() => 0))
  expect(await testDatabase.query('select count(*)::int from throttles')).toEqual([{ count: 41 }])
})

test('who reaches a limit is told of once, not who is refused there', async () => {
  const throttle = createThrottle()
  await failTimes(10, throttle, 'alice')
  expect(told).toEqual([{ kind: 'user', limit: 'account', account: 'alice' }])
  await failTimes(10, throttle, 'bob')
  expect(told.slice(1)).toEqual([{ kind: 'user', limit: 'network', account: null }])
})

test('an attack that goes on is news again when all that it began with is forgotten', async () => {
  const account = { failures: 4, recovery: 0.1 }
  const throttle = createThrottle({ account, network: { failures: 1000, recovery: 3600 } })
  const attack = async (): Promise<number> => fail(throttle, 'alice').then(() => told.length)
  const began = performance.now()
  await expect.poll(attack, { interval: 20 }).toBe(3)
  expect(performance.now() - began).toBeGreaterThan(2 * account.failures * account.recovery * 1000)
})

test('each process tells what it found out itself', async () => {
  const [one, two] = [createThrottle(), createThrottle()]
  expect(await failTimes(3, one, 'alice')).toEqual([0, 0, 0])
  expect(told).toHaveLength(1)
  await failTimes(5, two, 'alice')
  expect(told).toHaveLength(2)
})

/** No more than a few of one account, wherever they come from. */
const SHARED: ThrottleLimits = {
  ...LIMITS,
  everywhere: { failures: 4, recovery: 3600 },
  marked: { failures: 2, recovery: 3600 },
}
/** A failure from an address of its own each time. */
const failFromAfar = async (throttle: Throttle, account: string, times: number): Promise<number[]> => {
  const answers: number[] = []
  while (answers.length < times) answers.push(await fail(throttle, account, `198.51.100.${answers.length}`))
  return answers
}

test('an account from many networks is refused at its limit of all of them, by every process', async () => {
  const [one, two] = [createThrottle(SHARED), createThrottle(SHARED)]
  expect(await failFromAfar(one, 'alice', 2)).toEqual([0, 0])
  expect(await failFromAfar(two, 'alice', 4)).toEqual([0, 0, 429, 429])
  expect(await fail(one, 'alice', '203.0.113.1')).toBe(429)
  expect(await failFromAfar(one, 'bob', 5)).toEqual([0, 0, 0, 0, 429])
  const everywhere = { kind: 'user', limit: 'everywhere' }
  expect(told).toEqual(['alice', 'alice', 'bob'].map((account) => ({ ...everywhere, account })))
}) // prettier-ignore

test('at once, from as many networks, no more are checked than may fail', async () => {
  const throttle = createThrottle(SHARED)
  let checked = 0
  const statuses = Array.from({ length: 20 }, async (_, at) => {
    try {
      const attempt = await throttle.attempt('alice', `198.51.100.${at}`)
      checked++
      await attempt.failed()
      return 0
    } catch (error) {
      return (error as { status: number }).status
    }
  })
  expect((await Promise.all(statuses)).filter((status) => status === 0)).toHaveLength(4)
  expect(checked).toBe(4)
})

test('what one network may not fail any more counts for nobody elsewhere', async () => {
  const throttle = createThrottle(SHARED)
  expect(await failTimes(20, throttle, 'alice')).toEqual([0, 0, 0, ...Array<number>(17).fill(429)])
  expect(await fail(throttle, 'alice', '192.0.2.2')).toBe(0)
})

test('who shows a mark is let in at each of these limits, and fails within a bound of their own', async () => {
  const throttle = createThrottle(SHARED)
  await failFromAfar(throttle, 'alice', 5)
  await failTimes(4, throttle, 'alice')
  const marked = async (mark: string, address = HERE): Promise<number> => {
    try {
      await (await throttle.attempt('alice', address, mark)).failed()
      return 0
    } catch (error) {
      return (error as { status: number }).status
    }
  }
  const attempt = await throttle.attempt('alice', HERE, 'hers')
  attempt.succeeded()
  // Also where it is carried about.
  expect([await marked('hers'), await marked('hers', '192.0.2.9'), await marked('hers', '192.0.2.10')]).toEqual([0, 0, 429])
  expect(await marked('another of hers')).toBe(0)
}) // prettier-ignore

test('where a mark is used up it is worth nothing, and its failures count at its address', async () => {
  const throttle = createThrottle(SHARED)
  const answers: number[] = []
  for (let at = 0; at < 5; at++)
    answers.push(
      await throttle.attempt('alice', HERE, 'a mark').then(
        async (attempt) => attempt.failed().then(() => 0, ({ status }: { status: number }) => status),
        ({ status }: { status: number }) => status,
      ),
    )
  expect(answers).toEqual([0, 0, 0, 429, 429])
}) // prettier-ignore

test('where two processes use one up at once, no more fail than at its address', async () => {
  const [one, two] = [createThrottle(SHARED), createThrottle(SHARED)]
  const failed = async (throttle: Throttle): Promise<number> => {
    try {
      await (await throttle.attempt('alice', HERE, 'a mark')).failed()
      return 0
    } catch (error) {
      return (error as { status: number }).status
    }
  }
  const attempt = await one.attempt('alice', HERE, 'a mark')
  const { query } = database
  const mayGoOn = Promise.withResolvers<void>()
  const isHeld = Promise.withResolvers<void>()
  let statements = 0
  // Between the two that count this failure, the other process uses up what there is.
  const holding: Database['query'] = async (statement, values) => {
    if (++statements === 2) {
      isHeld.resolve()
      await mayGoOn.promise
    }
    return query(statement, values)
  }
  Object.assign(database, { query: holding })
  const first = attempt.failed().then(
    () => 0,
    ({ status }: { status: number }) => status,
  )
  await isHeld.promise
  const answers: number[] = []
  while (answers.length < 4) answers.push(await failed(two))
  mayGoOn.resolve()
  answers.push(await first)
  expect(answers.filter((status) => status === 0).length).toBeLessThanOrEqual(3)
  expect(answers).toContain(429)
})
