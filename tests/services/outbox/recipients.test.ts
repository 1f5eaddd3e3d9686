/** Recipients of deliveries: whoever is away keeps no other waiting, is tried less, and what became of attempts is kept for people. */
import { expect, test } from 'vitest'
import { NotHere, RecipientGone, Undeliverable } from '../../../src/doors/outbound.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { TooManyUnderWay } from '../../../src/services/outbound/too-many.ts'
import { MOST_GIVEN_UP } from '../../../src/services/outbox/recipients.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { LOOKED_AT, statements } from '../../../src/store/outbox.ts'
import { atEndOfFile } from '../../support/cleanup.ts'
import { createDatabase, type TestDatabase } from '../../support/database.ts'
import {
  deliveryOf,
  openPostOffice,
  type PostOffice,
  type PostOfficeOptions,
} from '../../support/post-office.ts'
import { until } from '../../support/until.ts'

type Deliver = (recipient: string) => Promise<string | null | void>
const payload = Type.Object({ to: Type.String() })

async function office(deliver: Deliver, options: PostOfficeOptions = {}, shared?: TestDatabase) {
  const database = shared ?? (await createDatabase())
  const deliveries = ['letter', 'mail'].map((kind) =>
    deliveryOf({ kind, payload, deliver: async ({ to }) => deliver(to) }),
  )
  return { ...(await openPostOffice(database, deliveries, options)), database }
}

async function send({ audit, outbox }: PostOffice, to: readonly string[], kind = 'letter'): Promise<void> {
  const things = to.map((recipient) => ({ kind, recipient: kind === 'mail' ? '' : recipient, payload: { to: recipient } }))
  await audit.transaction(async (query) => outbox.enqueueBy(query, things))
  await outbox.announce()
} // prettier-ignore

const times = (name: string, count: number): string[] => Array.from({ length: count }, () => name)
const stateOf = async ({ recipients }: PostOffice, name: string) =>
  (await recipients.list('letter', [name]))[0]!
/** As if everybody had rested. */
async function rested(...offices: readonly (PostOffice & { database: TestDatabase })[]): Promise<void> {
  const { query } = offices[0]!.database
  await query(`update outbox_recipients set rests_until = now() where rests_until is not null`)
  await query(`update outbox set due_at = now()`)
  for (const { outbox } of offices) await outbox.announce()
}

test('many who hang keep neither others of their kind nor other kinds waiting', async () => {
  const done: string[] = []
  const hanging = new Set<string>()
  const there = await office(async (to) => {
    if (!to.startsWith('hangs')) return void done.push(to)
    hanging.add(to)
    return new Promise(() => {})
  }, { stopLimit: 1, limit: 300 }) // prettier-ignore
  const away = Array.from({ length: 9 }, (_, n) => times(`hangs-${n}`, 6)).flat()
  await send(there, away)
  await until(() => expect(hanging.size).toBeGreaterThan(1))
  await send(there, times('well', 30))
  await send(there, times('mail', 5), 'mail')
  await until(() => expect(done.filter((to) => to === 'mail')).toHaveLength(5))
  await until(() => expect(done.filter((to) => to === 'well')).toHaveLength(30))
  // All of them have their turn.
  await until(() => expect(hanging.size).toBe(9))
})

test('whoever fails is tried less by every process, which is said once, and as before when it is well again', async () => {
  let isAway = true
  let tries = 0
  const deliver: Deliver = async () => {
    tries++
    if (isAway) throw new Error('https://app.example answered with 503')
  }
  const first = await office(deliver)
  const second = await office(deliver, {}, first.database)
  await first.database.query(`insert into outbox_recipients (kind, recipient, failures, failing_since) values ('letter', 'app', 3, now())`)
  await send(first, times('app', 60))
  for (const more of [3, 4]) {
    await until(async () => expect((await stateOf(first, 'app')).failures).toBeGreaterThan(more))
    await rested(first, second)
  }
  const { failures, failingSince, restsUntil, waiting } = await stateOf(second, 'app')
  expect({ failures: failures >= 5, failingSince, restsUntil, waiting }).toEqual({
    failures: true,
    failingSince: expect.any(Number) as number,
    restsUntil: expect.any(Number) as number,
    waiting: 60,
  })
  expect(tries).toBeLessThan(60)
  const said = () => (first.output() + second.output()).split('this recipient is tried less').length - 1
  expect(said()).toBe(1)
  isAway = false
  // One that was under way may have failed after that.
  await until(async () => {
    await rested(first, second)
    expect((await stateOf(first, 'app')).waiting).toBe(0)
  })
  await until(async () => expect(await stateOf(first, 'app')).toMatchObject({ failures: 0, failingSince: null, restsUntil: null }))
  // Of one that was under way, it may be said once more.
  expect((first.output() + second.output()).split('deliveries are taken again').length - 1).toBeOneOf([1, 2])
}) // prettier-ignore

test('what had come to nothing before anybody was asked makes nobody well', async () => {
  let asked = 0
  const there = await office(async () => {
    asked++
    return null
  })
  await there.database.query(`insert into outbox_recipients (kind, recipient, failures, failing_since, rests_until) values ('letter', 'app', 3, now(), now() + interval '1 hour')`)
  await send(there, ['app'])
  await rested(there)
  await until(() => expect(asked).toBe(1))
  await until(async () => expect((await stateOf(there, 'app')).waiting).toBe(0))
  expect((await stateOf(there, 'app')).failures).toBe(3)
  expect(there.output()).not.toContain('deliveries are taken again')
}) // prettier-ignore

test('what waits for who rests is not looked for before they have rested', async () => {
  const there = await office(async () => {}, { serves: false })
  const { query, close } = await openDatabase({ url: there.database.url, poolSize: 1 })
  atEndOfFile(close)
  await send(there, times('app', 3))
  const next = async (full: string[] = [], failing = true) => (await query(statements.next, ['letter', full, failing, '']))[0]?.wait
  expect(await next()).toBeLessThanOrEqual(0)
  expect(await next(['app'])).toBeUndefined()
  await there.database.query(`insert into outbox_recipients (kind, recipient, failures, rests_until) values ('letter', 'app', 9, now() + interval '1 hour')`)
  expect(await next()).toBeGreaterThan(3_000_000)
  expect(await next([], false)).toBeUndefined()
  await send(there, ['other'])
  expect(await next()).toBeLessThanOrEqual(0)
}) // prettier-ignore

test('a process that takes a few of what is for many locks a few, and others take theirs meanwhile', async () => {
  const there = await office(async () => {}, { serves: false })
  const { query, transaction, close } = await openDatabase({ url: there.database.url, poolSize: 2 })
  atEndOfFile(close)
  await there.database.query(`insert into outbox (id, kind, recipient, payload, due_at)
    select gen_random_uuid(), 'letter', 'app-' || n % 300, 'sealed', now() - make_interval(secs => n) from generate_series(1, 900) n`)
  const claim = ['letter', 30, 7, 4, 2, [], [], '']
  await transaction(async (own) => {
    const first = await own(statements.claim, claim)
    const second = await query(statements.claim, claim)
    // Who has waited longest, each once.
    const oldest = (from: number) => Array.from({ length: 7 }, (_, n) => `app-${(from - n) % 300}`).toSorted()
    expect(first.map(({ recipient }) => recipient).toSorted()).toEqual(oldest(900))
    expect(second).toHaveLength(7)
    expect(new Set([...first, ...second].map(({ id }) => id)).size).toBe(14)
  })
}) // prettier-ignore

test('what its time is over for while its recipient rests is given up, and told by its number', async () => {
  const there = await office(async () => Promise.reject(new Error('https://app.example answered with 503')))
  await there.database.query(`insert into outbox_recipients (kind, recipient, failures, failing_since) values ('letter', 'app', 9, now())`)
  await there.database.query(`insert into outbox (id, kind, recipient, payload, due_at, tries_until)
    select gen_random_uuid(), 'letter', 'app', 'sealed', now() + interval '1 hour', now() - interval '1 minute' from generate_series(1, 1200)`)
  await send(there, ['app'])
  await until(async () => expect(await stateOf(there, 'app')).toMatchObject({ waiting: 1, givenUp: 501 }))
  const { events } = await there.audit.list({ type: 'delivery.given_up' })
  expect(events.map(({ details }) => (details as { count: number }).count)).toEqual([200, 500, 500])
  const [one] = (await there.givenUp.list({ limit: 1 })).deliveries
  expect(one).toMatchObject({ recipient: 'app', lastError: 'https://app.example answered with 503' })
  expect(await there.givenUp.retryAll({ kind: 'letter', recipient: 'somebody' })).toBe(0)
  expect(await there.givenUp.retryAll({ kind: 'letter', recipient: 'app' })).toBe(1200)
}) // prettier-ignore

test('of what was given up of one recipient the last are kept, and the log says so', async () => {
  const there = await office(async () => {})
  await there.database.query(`insert into outbox_recipients (kind, recipient) values ('letter', 'app'), ('letter', 'other')`)
  await there.database.query(`insert into outbox_recipients (kind, recipient) select 'letter', 'a-' || n from generate_series(1, 1000) n`)
  await there.database.query(`insert into outbox (id, kind, recipient, payload, tries_until, given_up_at)
    select gen_random_uuid(), 'letter', case when n > $1 then 'other' else 'app' end, case when n > 700 then 'sealed' else 'old' end,
      now() - interval '1 day' + make_interval(secs => n), now() from generate_series(1, $1 + 10) n`, [MOST_GIVEN_UP + 700])
  const removed = [await there.recipients.removeExcess(), await there.recipients.removeExcess(), await there.recipients.removeExcess()]
  expect(removed).toEqual([500, 200, 0])
  expect(await there.database.query(`select recipient, payload, count(*)::int from outbox group by 1, 2 order by 1`)).toEqual([
    { recipient: 'app', payload: 'sealed', count: MOST_GIVEN_UP },
    { recipient: 'other', payload: 'sealed', count: 10 },
  ])
  expect(there.output()).toContain(`the last ${MOST_GIVEN_UP} are kept`)
}) // prettier-ignore

test('the last attempts are kept, the latest first, and nothing of them that was to be delivered', async () => {
  let count = 0
  const there = await office(async () => {
    if (++count === 25) throw new Error('https://app.example answered with 500')
    return `letter: ${count}`
  })
  await send(there, times('app', 24))
  await until(() => expect(count).toBe(24))
  await send(there, ['app'])
  await until(() => expect(count).toBeGreaterThan(25))
  await until(async () => expect((await stateOf(there, 'app')).outcomes.some(({ done }) => !done)).toBe(true))
  const { outcomes } = await stateOf(there, 'app')
  expect(outcomes).toHaveLength(20)
  expect(outcomes.find(({ done }) => !done)).toEqual({
    id: expect.any(String) as string,
    at: expect.any(Number) as number,
    milliseconds: expect.any(Number) as number,
    done: false,
    text: 'https://app.example answered with 500',
  })
  expect(outcomes.map(({ at }) => at)).toEqual(outcomes.map(({ at }) => at).toSorted((a, b) => b - a))
})

test('of whom one fails while others are under way, no more is looked for until those have ended; one that is taken then makes it well', async () => {
  const held: (() => void)[] = []
  let tries = 0
  const there = await office(async () => {
    if (++tries > 3) throw new Error('https://app.example answered with 503')
    await new Promise<void>((resolve) => held.push(resolve))
  })
  await send(there, times('app', 4))
  await until(async () => expect((await stateOf(there, 'app')).failures).toBe(1))
  const dueIn = async (pause: string) => there.database.query(`update outbox set due_at = now() + $1::interval where last_error is not null`, [pause])
  await dueIn('0')
  await there.outbox.announce()
  const asked = (name: string): number => there.asked.filter((one) => one === name).length
  const [looks, polls] = [asked('outbox-claim'), asked('changes-since')]
  await until(() => expect(asked('changes-since')).toBeGreaterThan(polls + 1))
  expect(asked('outbox-claim') - looks).toBeLessThan(10)

  await dueIn('1 hour')
  held.forEach((release) => release())
  await until(async () => expect(await stateOf(there, 'app')).toMatchObject({ failures: 0, failingSince: null }))
}) // prettier-ignore

test('a process that does not know a recipient leaves it to others, and takes it for no attempt', async () => {
  let refused = 0
  const former = await office(async () => {
    refused++
    throw new NotHere('it is unknown here')
  })
  await send(former, times('fresh', 30))
  await until(() => expect(refused).toBeGreaterThan(0))
  const attempts: number[] = []
  const knowing = deliveryOf({ kind: 'letter', payload, deliver: async (_letter, { attempt }) => void attempts.push(attempt) })
  const latter = await openPostOffice(former.database, [knowing])
  await until(() => expect(attempts).toHaveLength(30))
  expect(new Set(attempts)).toEqual(new Set([1]))
  expect(refused).toBeLessThan(5)
  await until(async () => expect(await stateOf(latter, 'fresh')).toMatchObject({ failures: 0, waiting: 0 }))
}) // prettier-ignore

test('what is nobody’s fault says nothing against a recipient', async () => {
  const there = await office(async (to) => {
    throw to === 'gone' ? new Undeliverable('it wants no more') : new NotHere('it is unknown here')
  })
  await send(there, ['gone', 'unknown'])
  await until(async () => expect((await stateOf(there, 'gone')).outcomes).toHaveLength(1))
  for (const name of ['gone', 'unknown'])
    expect(await stateOf(there, name)).toMatchObject({ failures: 0, restsUntil: null })
})

test('a look goes through some hundred recipients, the next one through those behind them, and each has its turn', async () => {
  const idle = await office(async () => {}, { serves: false })
  const { query, close } = await openDatabase({ url: idle.database.url, poolSize: 1 })
  atEndOfFile(close)
  await idle.database.query(`insert into outbox (id, kind, recipient, payload)
    select gen_random_uuid(), 'letter', 'app-' || lpad(n::text, 4, '0'), 'sealed' from generate_series(1, $1 + 100) n`, [LOOKED_AT])
  const claim = async (from: string) => query(statements.claim, ['letter', 30, 7, 4, 2, [], [], from])
  const next = async (from: string) => (await query(statements.next, ['letter', [], true, from]))[0]
  const name = (n: number) => `app-${String(n).padStart(4, '0')}`
  expect(new Set((await claim('')).map(({ reached }) => reached))).toEqual(new Set([name(LOOKED_AT)]))
  expect(await next('')).toMatchObject({ reached: name(LOOKED_AT) })
  const behind = await claim(name(LOOKED_AT))
  expect(behind.map(({ recipient, reached }) => [recipient >= name(LOOKED_AT), reached])).toEqual(Array.from({ length: 7 }, () => [true, null]))

  // Nobody can take anything of the first ones, and one waits behind them.
  const done: string[] = []
  await idle.database.query(`delete from outbox where recipient > $1`, [name(LOOKED_AT)])
  await idle.database.query(`insert into outbox_recipients (kind, recipient, failures, rests_until)
    select 'letter', recipient, 9, now() + interval '1 hour' from outbox`)
  await send(idle, ['last'])
  await office(async (to) => void done.push(to), {}, idle.database)
  await until(() => expect(done).toEqual(['last']))
}) // prettier-ignore

test('what waits for a recipient that is gone is given up at once, and one line tells how many', async () => {
  const gone = Date.now() - 60_000
  const there = await office(async () => {
    throw new RecipientGone('it is nobody any more', { enqueuedBefore: gone })
  })
  await there.database.query(`insert into outbox (id, kind, recipient, payload, due_at)
    select gen_random_uuid(), 'letter', 'app', 'sealed', now() + interval '1 hour' from generate_series(1, 5100)`)
  await there.database.query(`update outbox set enqueued_at = now() - interval '1 hour'`)
  await there.database.query(`insert into outbox (id, kind, recipient, payload, due_at) values (gen_random_uuid(), 'letter', 'app', 'fresh', now() + interval '1 hour')`)
  await send(there, ['app', 'other'])
  await until(async () => expect(await stateOf(there, 'app')).toMatchObject({ waiting: 2, givenUp: 501, failures: 0 }))
  const { events } = await there.audit.list({ type: 'delivery.given_up' })
  expect(events.map(({ details }) => (details as { count: number }).count).toSorted((a, b) => a - b)).toEqual([100, 5000])
  const lines = () => there.output().split('\n').filter((line) => line.includes('given up'))
  await until(() => expect(lines()).toEqual([expect.stringContaining('"count":5100')]))
  expect((await there.givenUp.list({ limit: 1 })).deliveries[0]).toMatchObject({ recipient: 'app', lastError: 'it is nobody any more' })
}) // prettier-ignore

test('what a process is at is given up by no other, and what was given up is told once', async () => {
  const there = await office(async () => {}, { serves: false, mostWaiting: 1 })
  const { query, close } = await openDatabase({ url: there.database.url, poolSize: 1 })
  atEndOfFile(close)
  await there.database.query(`insert into outbox_recipients (kind, recipient) values ('letter', 'app')`)
  await there.database.query(`insert into outbox (id, kind, recipient, payload, enqueued_at, tries_until, due_at)
    select gen_random_uuid(), 'letter', 'app', 'sealed', now() - interval '1 hour', now() - interval '1 minute', now() - make_interval(secs => n) from generate_series(1, 5) n`)
  const claimed = await query(statements.claim, ['letter', 30, 2, 4, 2, [], [], ''])
  expect(claimed).toHaveLength(2)
  const [one, other] = claimed
  // Of three that nobody is at, each takes one or two, and none of those that were claimed.
  expect(await there.recipients.giveUpExcess()).toBe(2)
  expect(await query(statements.giveUpOver, [500, 'letter', 'app', 'away'])).toHaveLength(1)
  expect(await query(statements.giveUpOver, [500, 'letter', 'app', 'away'])).toEqual([])
  const gone = [500, 'letter', 'app', 'gone', new Date()] as const
  expect(await query(statements.giveUpGone, [...gone, one!.id])).toEqual([{ id: one!.id }])
  // Who comes to the same end finds it given up.
  expect(await query(statements.failed, [one!.id, one!.attempts, 1, 'away', false])).toEqual([])
  expect(await query(statements.failed, [other!.id, other!.attempts, 1, 'away', false])).toEqual([{ givenUp: true }])
}) // prettier-ignore

test('more than may wait for one recipient is given up, the oldest first, whatever waits for others', async () => {
  const most = 100
  const there = await office(async () => {}, { serves: false, mostWaiting: most })
  await there.database.query(`insert into outbox_recipients (kind, recipient) values ('letter', 'app'), ('letter', 'other')`)
  await there.database.query(`insert into outbox (id, kind, recipient, payload, due_at)
    select gen_random_uuid(), 'letter', case when n <= $1 + 5010 then 'app' else 'other' end, case when n <= 5010 then 'old' else 'new' end,
      now() - interval '1 hour' + make_interval(secs => n / 1000.0) from generate_series(1, $1 + 5020) n`, [most])
  expect(await stateOf(there, 'app')).toMatchObject({ crowded: true })
  expect(await stateOf(there, 'other')).toMatchObject({ crowded: false, waiting: 10 })
  expect([await there.recipients.giveUpExcess(), await there.recipients.giveUpExcess(), await there.recipients.giveUpExcess()]).toEqual([5000, 10, 0])
  expect(await there.database.query(`select recipient, payload, count(*)::int from outbox where given_up_at is null group by 1, 2 order by 1`)).toEqual([
    { recipient: 'app', payload: 'new', count: most },
    { recipient: 'other', payload: 'new', count: 10 },
  ])
  expect(there.output()).toContain('the oldest first')
  const { events } = await there.audit.list({ type: 'delivery.given_up' })
  expect(events.map(({ details }) => details)).toEqual([{ kind: 'letter', count: 10 }, { kind: 'letter', count: 5000 }])
}) // prettier-ignore

test('where too much is asked of others, nobody was asked: that says nothing of the recipient, who has it a moment later', async () => {
  let tries = 0
  const there = await office(async () => {
    tries++
    if (tries === 1) throw new TooManyUnderWay()
  })
  await send(there, ['app'])
  await until(() => expect(tries).toBe(2))
  expect((await stateOf(there, 'app')).failures).toBe(0)
  expect(await there.database.query('select attempts from outbox where attempts > 1')).toEqual([])
})
