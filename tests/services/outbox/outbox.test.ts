/** What is enqueued: done once by one of many processes, tried again, given up, and never lost. */
import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import type { DeliveryTry } from '../../../src/doors/outbound.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { passTime } from '../../support/clocks.ts'
import { createDatabase, type TestDatabase } from '../../support/database.ts'
import { deliveryOf, openPostOffice, type PostOfficeOptions } from '../../support/post-office.ts'

const payload = Type.Object({ text: Type.String() })
type Deliver = (payload: { text: string }, attempt: DeliveryTry) => Promise<void>

async function office(deliver: Deliver, options: PostOfficeOptions = {}, shared?: TestDatabase) {
  const database = shared ?? (await createDatabase())
  const opened = await openPostOffice(database, [deliveryOf({ kind: 'letter', payload, deliver })], options)
  const send = async (text: string) => opened.outbox.enqueue('letter', { text })
  return { ...opened, database, send }
}

const rowsOf = async ({ query }: TestDatabase) => query('select * from outbox')
const left = async ({ query }: TestDatabase) =>
  (await query<{ count: number }>('select count(*)::int from outbox'))[0]!.count
/** As if so much time had passed for what is stored; every process hears of it. */
async function pass({ query }: TestDatabase, interval: string): Promise<void> {
  await query(`update outbox set due_at = due_at - $1::interval, tries_until = tries_until - $1::interval`, [
    interval,
  ])
  await query(`insert into changes (id, kind, key) values (gen_random_uuid(), 'delivery', '')`)
}

test('what is enqueued is done, once, and gone', async () => {
  const deliver = vi.fn<Deliver>(async () => {})
  const { send, database } = await office(deliver)
  await send('hello')
  await expect.poll(async () => left(database)).toBe(0)
  expect(deliver.mock.calls).toEqual([
    [{ text: 'hello' }, { id: expect.any(String), attempt: 1, enqueuedAt: expect.any(Number) }],
  ])
})

test('what nobody delivers, or does not fit, is refused at once and stored nowhere', async () => {
  const { outbox, database } = await office(async () => {})
  await expect(outbox.enqueue('parcel', { text: 'a' })).rejects.toThrow('nobody delivers parcel')
  await expect(outbox.enqueue('letter', { words: 'a' })).rejects.toThrow(TypeError)
  await expect(outbox.enqueue('letter', { text: 'x'.repeat(40_000) })).rejects.toThrow('more than 32768')
  expect(await left(database)).toBe(0)
})

test('what is stored tells nothing to who reads the database', async () => {
  const { send, database } = await office(async () => Promise.reject(new Error('the box is full')))
  await send('canary-in-the-payload')
  await expect.poll(async () => (await rowsOf(database))[0]?.['last_error']).toBe('the box is full')
  expect(JSON.stringify(await rowsOf(database))).not.toContain('canary')
})

test('what fails is tried again, as the same and with growing pauses', async () => {
  const tries: DeliveryTry[] = []
  const { send, database } = await office(async (_payload, attempt) => {
    tries.push(attempt)
    throw new Error('away')
  })
  // As they are stored, however late anybody looks.
  await database.query(`create table pauses (attempt int primary key, seconds float8);
    create function note() returns trigger language plpgsql as $$ begin
      insert into pauses values (new.attempts, extract(epoch from new.due_at - now())) on conflict do nothing;
      return new;
    end $$;
    create trigger note after update of last_error on outbox for each row when (new.last_error is not null) execute function note()`)
  await send('hello')
  for (let n = 1; n <= 14; n++) {
    const noted = async () => (await database.query(`select seconds from pauses where attempt = ${n}`))[0]
    await expect.poll(noted).toBeDefined()
    const pause = (await noted())!['seconds'] as number
    const least = Math.min(2 ** (n - 1), 3600) / 2
    expect(pause).toBeGreaterThan(least * 0.2)
    expect(pause).toBeLessThan(least * 3 + 1)
    await database.query(`update outbox set last_error = null, tries_until = now() + interval '3 days'`)
    await pass(database, '2 hours')
  }
  expect(new Set(tries.map(({ id }) => id)).size).toBe(1)
  expect(tries.slice(0, 14).map(({ attempt }) => attempt)).toEqual(
    Array.from({ length: 14 }, (_, at) => at + 1),
  )
})

test('after a day it is given up, told of, and tried again when an administrator says so', async () => {
  let away = true
  const deliver = vi.fn<Deliver>(async () => {
    if (away) throw new Error('it answered with 500,\nand a second line')
  })
  const { send, database, givenUp, audit, output } = await office(deliver)
  await send('hello')
  await expect.poll(async () => (await rowsOf(database))[0]?.['last_error']).toBeTruthy()
  expect(await givenUp.list()).toEqual({ deliveries: [], next: null })
  expect(await givenUp.waiting()).toBe(1)
  await pass(database, '25 hours')
  await expect.poll(async () => (await rowsOf(database))[0]?.['given_up_at']).toBeTruthy()
  const [delivery] = (await givenUp.list()).deliveries
  expect(delivery).toMatchObject({
    kind: 'letter',
    attempts: 2,
    lastError: 'it answered with 500, and a second line',
  })
  expect((await audit.list({ type: 'delivery.given_up' })).events).toMatchObject([
    { details: { delivery: delivery!.id, kind: 'letter', attempts: 2 } },
  ])
  expect(output()).toContain('a delivery is given up')
  away = false
  await pass(database, '1 hour')
  expect(await givenUp.retry(delivery!.id)).toBe(true)
  await expect.poll(async () => left(database)).toBe(0)
  expect(deliver).toHaveBeenCalledTimes(3)
  expect(await givenUp.retry(delivery!.id)).toBe(false)
  expect(await givenUp.retry('no id')).toBe(false)
  expect((await audit.list({ type: 'delivery.retried' })).events).toHaveLength(1)
})

test('all that was given up can be tried again at once, and is listed by the page', async () => {
  const { database, givenUp } = await office(async () => Promise.reject(new Error('away')))
  await database.query(`insert into outbox (id, kind, payload, tries_until, given_up_at)
    select gen_random_uuid(), 'letter', 'sealed', now() - make_interval(secs => n), now() from generate_series(1, 620) n`)
  const seen: string[] = []
  for (let after: string | undefined; ;) {
    const { deliveries, next } = await givenUp.list({ after, limit: 200 })
    seen.push(...deliveries.map(({ id }) => id))
    if (next === null) break
    after = next
  }
  expect([seen.length, new Set(seen).size]).toEqual([620, 620])
  expect(await givenUp.retryAll()).toBe(620)
})

test('what nobody delivers any more is shown after a day, though nobody tried it', async () => {
  const database = await createDatabase()
  await database.query(
    `insert into outbox (id, kind, payload) values (gen_random_uuid(), 'parcel', 'sealed')`,
  )
  const { givenUp } = await openPostOffice(database, [])
  await pass(database, '25 hours')
  expect((await givenUp.list()).deliveries).toMatchObject([{ kind: 'parcel', attempts: 0, lastError: null }])
})

test('what was found too late is tried all the same, once at least', async () => {
  const database = await createDatabase()
  const away = await office(async () => Promise.reject(new Error('away')), {}, database)
  await away.send('hello')
  await expect.poll(async () => (await rowsOf(database))[0]?.['last_error']).toBe('away')
  await away.stop()
  await pass(database, '3 days')
  const deliver = vi.fn<Deliver>(async () => {})
  await office(deliver, {}, database)
  await expect.poll(async () => left(database)).toBe(0)
  expect(deliver).toHaveBeenCalledOnce()
})

test.each([
  ['what cannot be decrypted', { secretKey: 'another secret key of 32 characters, or more' }],
  ['what does not fit any more', {}],
])('%s is given up at once', async (_what, options) => {
  const database = await createDatabase()
  const former = await office(async () => Promise.reject(new Error('away')), {}, database)
  await former.send('hello')
  await expect.poll(async () => (await rowsOf(database))[0]?.['last_error']).toBe('away')
  await former.stop()
  const deliver = vi.fn<(payload: object) => Promise<void>>(async () => {})
  const number = deliveryOf({ kind: 'letter', payload: Type.Object({ text: Type.Integer() }), deliver })
  const { givenUp } = await openPostOffice(database, [number], options)
  await pass(database, '1 hour')
  await expect.poll(async () => (await givenUp.list()).deliveries).toHaveLength(1)
  expect(deliver).not.toHaveBeenCalled()
})

test('of two processes one does it, however much there is', async () => {
  const database = await createDatabase()
  const done: string[] = []
  const deliver: Deliver = async ({ text }) => void done.push(text)
  const [one, two] = [await office(deliver, {}, database), await office(deliver, {}, database)]
  const texts = Array.from({ length: 100 }, (_, at) => String(at))
  await Promise.all(texts.map(async (text, at) => (at % 2 === 0 ? one : two).send(text)))
  await expect.poll(async () => left(database)).toBe(0)
  expect(done.toSorted()).toEqual(texts.toSorted())
})

test('what one process enqueues, another one does', async () => {
  const database = await createDatabase()
  const [here, there] = [vi.fn<Deliver>(async () => {}), vi.fn<Deliver>(async () => {})]
  await office(there, {}, database)
  const command = await office(here, { serves: false }, database)
  await command.send('hello')
  await expect.poll(async () => left(database)).toBe(0)
  expect([here.mock.calls.length, there.mock.calls.length]).toEqual([0, 1])
})

test('what a dead process had taken is taken by another one when its time is over', async () => {
  const database = await createDatabase()
  const dead = await office(async () => {}, { serves: false }, database)
  await dead.send('hello')
  await database.query(`update outbox set attempts = 1, due_at = now() + interval '30 seconds'`)
  const deliver = vi.fn<Deliver>(async () => {})
  const { asked } = await office(deliver, {}, database)
  const looks = (): number => asked.filter((name) => name === 'outbox-next').length
  await expect.poll(looks).toBeGreaterThan(0)
  const before = looks()
  await pass(database, '10 seconds')
  await expect.poll(looks).toBeGreaterThan(before)
  expect(deliver).not.toHaveBeenCalled()
  await pass(database, '25 seconds')
  await expect.poll(async () => left(database)).toBe(0)
  expect(deliver).toHaveBeenCalledWith({ text: 'hello' }, expect.objectContaining({ attempt: 2 }))
})

test('a process that stops finishes what it is at', async () => {
  let finish = (): void => {}
  const { send, database, stop } = await office(async () => new Promise((resolve) => (finish = resolve)))
  await send('hello')
  await expect.poll(async () => (await rowsOf(database))[0]?.['attempts']).toBe(1)
  const stopping = stop()
  finish()
  await stopping
  expect(await left(database)).toBe(0)
})

test('a process that stops gives back what it cannot finish, as if it had not been tried', async () => {
  const database = await createDatabase()
  const stuck = await office(async () => new Promise(() => {}), { stopLimit: 50 }, database)
  await stuck.send('hello')
  await expect.poll(async () => (await rowsOf(database))[0]?.['attempts']).toBe(1)
  await stuck.stop()
  expect((await rowsOf(database))[0]).toMatchObject({ attempts: 0, last_error: null })
  const deliver = vi.fn<Deliver>(async () => {})
  await office(deliver, {}, database)
  await expect.poll(async () => left(database)).toBe(0)
})

test('what takes too long has failed', async () => {
  const { send, database } = await office(async () => new Promise(() => {}), { limit: 50, stopLimit: 0 })
  await send('hello')
  await expect
    .poll(async () => (await rowsOf(database))[0]?.['last_error'])
    .toBe('it took longer than 0.05 seconds')
})

test('ten that hang do not keep the others for longer than an attempt may take', async () => {
  const done: string[] = []
  const deliver: Deliver = async ({ text }) =>
    text === 'stuck' ? new Promise(() => {}) : void done.push(text)
  const { send } = await office(deliver, { limit: 100, stopLimit: 0 })
  for (let n = 0; n < 10; n++) await send('stuck')
  await send('hello')
  await expect.poll(() => done).toEqual(['hello'])
})

test('however many of one kind hang, those of another are done meanwhile', async () => {
  const database = await createDatabase()
  const done = vi.fn<Deliver>(async () => {})
  const stuck = deliveryOf({ kind: 'stuck', payload, deliver: async () => new Promise(() => {}) })
  const letter = deliveryOf({ kind: 'letter', payload, deliver: done })
  const { outbox } = await openPostOffice(database, [stuck, letter], { stopLimit: 0 })
  for (let n = 0; n < 30; n++) await outbox.enqueue('stuck', { text: 'wait' })
  for (let n = 0; n < 20; n++) await outbox.enqueue('letter', { text: 'hello' })
  await expect.poll(() => done.mock.calls.length).toBe(20)
  expect(await left(database)).toBe(30)
})

test('it goes with the change, or not at all', async () => {
  const deliver = vi.fn<Deliver>(async () => {})
  const { outbox, audit, database } = await office(deliver)
  outbox.enqueueOn(['user.enabled', 'user.disabled'], ({ type, user }) => [
    { kind: 'letter', payload: { text: `${type} ${user}` } },
  ])
  const failing = audit.transaction(async (_query, note) => {
    note({ type: 'user.enabled', user: 'ada', details: {} })
    await Promise.resolve()
    throw new Error('the change fails')
  })
  await expect(failing).rejects.toThrow('the change fails')
  await audit.transaction(async (_query, note) => note({ type: 'user.enabled', user: 'bob', details: {} }))
  await audit.transactional(async (_em, note) =>
    note({ type: 'user.disabled', user: 'eve', details: { clients: [] } }),
  )
  audit.observe({ type: 'user.enabled', user: 'observed', details: {} })
  await expect
    .poll(() => deliver.mock.calls.map(([{ text }]) => text).toSorted())
    .toEqual(['user.disabled eve', 'user.enabled bob', 'user.enabled observed'])
  await expect.poll(async () => left(database)).toBe(0)
})

test('what goes with an event that changes nothing waits for a database that is away, and is stored once where an answer was lost', async () => {
  const { outbox, audit, database, through } = await office(async () => {}, { serves: false })
  outbox.enqueueOn('user.enabled', ({ user = '' }) => [{ kind: 'letter', payload: { text: user } }])
  const gone = Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' })
  const transaction = through.transaction.bind(through)
  const failing = vi.spyOn(through, 'transaction').mockRejectedValueOnce(gone)
  failing.mockImplementationOnce(async (work) => {
    await transaction(work)
    throw gone
  })
  for (const user of ['ada', 'bob']) audit.observe({ type: 'user.enabled', user, details: {} })
  await expect.poll(async () => left(database)).toBe(1)
  await outbox.stop()
  expect([await left(database), failing.mock.calls.length]).toEqual([2, 4])
}) // prettier-ignore

test.each([
  ['of characters that no text has', 'a\0b'],
  ['too long for an index', Array.from({ length: 1000 }, () => randomUUID()).join('')],
])(
  'one that cannot be stored, for a recipient %s, is left out, and no other with it',
  async (_what, refused) => {
    const { outbox, audit, database, output } = await office(async () => {}, { serves: false })
    outbox.enqueueOn('user.enabled', ({ user = '' }) => [
      { kind: 'letter', payload: { text: user }, recipient: user === 'user-7' ? refused : '' },
    ])
    for (let at = 0; at < 50; at++) audit.observe({ type: 'user.enabled', user: `user-${at}`, details: {} })
    await expect.poll(async () => left(database)).toBe(49)
    expect(output().match(/cannot be stored, and is left out/g)).toHaveLength(1)
    await outbox.stop()
    expect(await left(database)).toBe(49)
  },
)

test('what goes with an event is tried a few times where it fails for no reason that is known, and then left out', async () => {
  const { outbox, audit, database, through, output } = await office(async () => {}, { serves: false })
  outbox.enqueueOn('user.enabled', ({ user = '' }) => [{ kind: 'letter', payload: { text: user } }])
  const lost = Object.assign(new Error('the prepared statement is not there'), { code: '26000' })
  const failing = vi.spyOn(through, 'transaction').mockRejectedValueOnce(lost)
  audit.observe({ type: 'user.enabled', user: 'ada', details: {} })
  await expect.poll(async () => left(database)).toBe(1)
  failing.mockClear()
  for (let at = 0; at < 5; at++) failing.mockRejectedValueOnce(lost)
  audit.observe({ type: 'user.enabled', user: 'bob', details: {} })
  await expect.poll(() => failing.mock.calls.length).toBe(5)
  await expect.poll(output).toContain('cannot be stored, and is left out')
  audit.observe({ type: 'user.enabled', user: 'eve', details: {} })
  await expect.poll(async () => left(database)).toBe(2)
  await outbox.stop()
}) // prettier-ignore

test.each(['transaction', 'transactional'] as const)('a %s that fails at its very end leaves nothing', async (how) => {
  const deliver = vi.fn<Deliver>(async () => {})
  const { outbox, audit, database } = await office(deliver)
  outbox.enqueueOn('user.enabled', ({ user = '' }) => [{ kind: 'letter', payload: { text: user } }])
  await database.query(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'refused at the commit'; end $$`)
  await database.query(`create constraint trigger refusing after insert on audit_events deferrable initially deferred
    for each row when (new.user_id = 'undone') execute function refuse()`)
  const enable = async (user: string) =>
    audit[how](async (_, note) => note({ type: 'user.enabled', user, details: {} }))
  await expect(enable('undone')).rejects.toThrow('refused at the commit')
  await enable('done')
  await expect.poll(async () => left(database)).toBe(0)
  expect(deliver.mock.calls.map(([{ text }]) => text)).toEqual(['done'])
}) // prettier-ignore

test('a listener that throws, or enqueues what does not fit, keeps nobody from their change', async () => {
  const deliver = vi.fn<Deliver>(async () => {})
  const { outbox, audit, output } = await office(deliver)
  outbox.enqueueOn('user.enabled', () => {
    throw new Error('a bug of a plugin')
  })
  outbox.enqueueOn('user.enabled', () => [{ kind: 'letter', payload: { text: 1 } }])
  outbox.enqueueOn('user.enabled', () => [{ kind: 'letter', payload: { text: 'good' } }])
  await audit.transaction(async (_query, note) => note({ type: 'user.enabled', user: 'ada', details: {} }))
  await expect.poll(() => deliver.mock.calls).toHaveLength(1)
  expect(output()).toContain('a bug of a plugin')
  expect((await audit.list({ type: 'user.enabled' })).events).toHaveLength(1)
})

test('a listener knows clients that are in memory, and of others nothing', async () => {
  const { outbox, audit } = await office(async () => {})
  const known: unknown[] = []
  outbox.enqueueOn('user.enabled', (_event, clientInMemory) => {
    known.push(clientInMemory('never asked for'))
    return []
  })
  await audit.transaction(async (_query, note) => note({ type: 'user.enabled', user: 'ada', details: {} }))
  expect(known).toEqual([undefined])
})

test('with nothing to do it asks the database nothing', async () => {
  const deliver = vi.fn<Deliver>(async () => {})
  const { send, asked, database } = await office(deliver)
  await send('hello')
  await expect.poll(async () => left(database)).toBe(0)
  // Its own word comes back by the next poll of the feed; after that there is silence.
  const polls = (): number => asked.filter((name) => name === 'changes-since').length
  const before = polls()
  await expect.poll(polls).toBeGreaterThan(before + 1)
  const ours = (): number => asked.filter((name) => name.startsWith('outbox')).length
  const [then, pollsThen] = [ours(), polls()]
  await expect.poll(polls).toBeGreaterThan(pollsThen + 3)
  expect(ours()).toBe(then)
})

test('a full outbox takes no more but what goes with events, and says so; there is room again when it is emptied', async () => {
  const deliver = vi.fn<Deliver>(async () => {})
  const { outbox, audit, database, output } = await office(deliver)
  outbox.enqueueOn('user.enabled', ({ user = '' }) => [{ kind: 'letter', payload: { text: user } }])
  await database.query(`insert into outbox (id, kind, payload, tries_until, given_up_at)
    select gen_random_uuid(), 'letter', 'sealed', now(), now() from generate_series(1, 100000)`)
  for (let tried = 0; tried < 3; tried++)
    await expect(outbox.enqueue('letter', { text: 'too many' })).rejects.toMatchObject({ status: 503 })
  expect(output().match(/the outbox is full/g)).toHaveLength(1)
  await audit.transaction(async (_query, note) => note({ type: 'user.enabled', user: 'ada', details: {} }))
  await expect.poll(() => deliver.mock.calls.map(([{ text }]) => text)).toEqual(['ada'])

  await database.query(`delete from outbox where given_up_at is not null`)
  passTime(6000)
  await outbox.enqueue('letter', { text: 'hello' })
  vi.useRealTimers()
  await expect.poll(() => deliver.mock.calls.map(([{ text }]) => text)).toEqual(['ada', 'hello'])
})

test('what waits of kinds that come with events alone, as at an address that is away, keeps nobody else out', async () => {
  const deliver = vi.fn<Deliver>(async () => {})
  const { send, database } = await office(deliver)
  await database.query(`insert into outbox (id, kind, payload, tries_until, given_up_at)
    select gen_random_uuid(), 'news', 'sealed', now(), now() from generate_series(1, 100000)`)
  await send('hello')
  await expect.poll(() => deliver.mock.calls.map(([{ text }]) => text)).toEqual(['hello'])
})
