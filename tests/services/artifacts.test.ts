/** What plugins store: each put with a lifetime and an owner of its own, spent once, deleted and listed, over all processes. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Artifacts } from '../../src/doors/artifacts.ts'
import { withClient } from '../../src/store/connections.ts'
import { isUnavailable } from '../../src/store/failures.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { ALICE, BOB, SEED } from '../support/sign-in.ts'

interface Ticket {
  seat: number
  secret?: string
}

interface Kinds {
  tickets: Artifacts<Ticket>
  /** Of users. */
  invitations: Artifacts<Ticket>
  silent: Artifacts<Ticket>
}

async function startWith(settings = {}, database?: TestServer['database']): Promise<TestServer & Kinds> {
  let kinds!: Kinds
  const server = await startServer(settings, {
    seed: SEED,
    ...(database === undefined ? {} : { database }),
    extend({ oauth: { artifacts } }) {
      kinds = {
        tickets: artifacts<Ticket>('ticket', { lifetime: 600 }),
        invitations: artifacts<Ticket>('invitation', {
          lifetime: 600,
          ofUsers: true,
          describe: ({ seat }) => ({ seat }),
        }),
        silent: artifacts<Ticket>('silent', { lifetime: 600, ofUsers: true }),
      }
    },
  })
  return Object.assign(server, kinds)
}

const server = await startWith()
const { PORT: _port, ...settings } = server.settings
const second = await startWith(settings, server.database)
const { tickets, invitations, silent } = server
const { users } = server.server.oauth
const alice = (await users.find(ALICE.username))!.id
const bob = (await users.find(BOB.username))!.id
const NOBODY = '00000000-0000-4000-8000-000000000000'

/** Moves every artifact so many seconds into the past. */
const passSeconds = async (seconds: number): Promise<unknown> =>
  server.database.query('update artifacts set expires_at = expires_at - make_interval(secs => $1)', [seconds])

test('each lives as long as it was put for, and those for which nothing was said as long as their kind', async () => {
  const handles = [
    await tickets.put({ seat: 1 }, { lifetime: 60 }),
    await tickets.put({ seat: 2 }),
    await tickets.put({ seat: 3 }, { lifetime: 3600 }),
  ]
  const seats = async (): Promise<unknown> =>
    Promise.all(handles.map(async (handle) => (await tickets.get(handle))?.seat ?? null))
  const seen = [await seats()]
  for (const seconds of [61, 540, 3000]) {
    await passSeconds(seconds)
    seen.push(await seats())
  }
  expect(seen).toEqual([
    [1, 2, 3],
    [null, 2, 3],
    [null, null, 3],
    [null, null, null],
  ])
  expect([await tickets.spend(handles[2]!), await tickets.delete(handles[2]!)]).toEqual([null, false])
})

test.each([{ lifetime: 0 }, { lifetime: Number.NaN }, { lifetime: Infinity }, { owner: 'x', most: 0 }, { owner: 'x', most: 1001 }])(
  'what nobody can mean is refused: %o', async (options) => {
    await expect(tickets.put({ seat: 1 }, options)).rejects.toThrow(RangeError)
  },
) // prettier-ignore

test('a handle that is taken is so until it expires or is deleted, also when it was spent', async () => {
  const handle = randomUUID()
  expect(await tickets.put({ seat: 1 }, { handle })).toBe(handle)
  expect(await second.tickets.put({ seat: 2 }, { handle })).toBe(false)
  expect(await tickets.spend(handle)).toEqual({ seat: 1 })
  expect([await tickets.put({ seat: 3 }, { handle }), await tickets.delete(handle)]).toEqual([false, false])
  await passSeconds(601)
  expect(await tickets.put({ seat: 4 }, { handle })).toBe(handle)
  expect([await second.tickets.delete(handle), await tickets.get(handle)]).toEqual([true, null])
  expect(await tickets.put({ seat: 5 }, { handle })).toBe(handle)
})

test('of 20 who spend one at two processes at once, one gets it; nobody reads or replaces it afterwards', async () => {
  const handle = await tickets.put({ seat: 7 })
  const asked = Array.from({ length: 20 }, async (_, at) => [server, second][at % 2]!.tickets.spend(handle))
  const got = await Promise.all(asked)
  expect(got.filter((one) => one !== null)).toEqual([{ seat: 7 }])
  expect(await tickets.get(handle)).toBeNull()
  expect(await tickets.replace(handle, { seat: 7 }, { seat: 8 })).toBe(false)
})

test('who spends one while the database goes away does not know, and it is not spent twice', async () => {
  const proxy = await startDatabaseProxy(server.database.url)
  const away = await startWith(
    { ...settings, DATABASE_URL: proxy.url },
    { ...server.database, url: proxy.url },
  )
  const failure = async (work: Promise<unknown>): Promise<boolean> => work.then(() => false, isUnavailable)

  const before = await tickets.put({ seat: 1 })
  proxy.cutAt('artifact-spend', 'before')
  expect(await failure(away.tickets.spend(before))).toBe(true)
  expect([await away.tickets.spend(before), await tickets.spend(before)]).toEqual([{ seat: 1 }, null])

  const after = await tickets.put({ seat: 2 })
  proxy.cutAt('artifact-spend', 'after')
  expect(await failure(away.tickets.spend(after))).toBe(true)
  expect([await away.tickets.spend(after), await tickets.spend(after)]).toEqual([null, null])

  await proxy.cut()
  const calls = [away.tickets.put({ seat: 3 }), away.tickets.list('x'), away.tickets.delete('x')]
  expect(await Promise.all(calls.map(failure))).toEqual([true, true, true])
  await proxy.restore()
})

describe('what an owner has', () => {
  test('is listed page by page, and deleted as it was listed', async () => {
    const owner = randomUUID()
    for (let seat = 0; seat < 5; seat++) await tickets.put({ seat }, { owner })
    await tickets.put({ seat: 9 }, { owner: 'another' })
    const spent = await tickets.put({ seat: 10 }, { owner })
    await tickets.spend(String(spent))

    const first = await tickets.list(owner, { limit: 3 })
    const rest = await second.tickets.list(owner, { limit: 3, after: first.at(-1)!.id })
    const all = [...first, ...rest]
    expect(all.map(({ value }) => value.seat).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4])
    expect(all.map(({ id }) => id)).toEqual((await tickets.list(owner)).map(({ id }) => id))
    expect(all.every(({ expiresAt }) => Math.abs(expiresAt - Date.now() - 600_000) < 60_000)).toBe(true)
    expect([await tickets.delete(all[0]!), await tickets.delete(all[0]!)]).toEqual([true, false])
    expect(await tickets.list(owner)).toHaveLength(4)
    await expect(tickets.list(owner, { limit: 101 })).rejects.toThrow(RangeError)
  })

  test('is so many at most, and what is not stored takes no place', async () => {
    const owner = randomUUID()
    const put = async (seat: number, lifetime: number, handle?: string) =>
      tickets.put({ seat }, { owner, most: 3, lifetime, handle })
    for (const [seat, lifetime] of [[1, 300], [2, 100], [3, 200]] as const) await put(seat, lifetime, `${owner} ${seat}`) // prettier-ignore
    const seats = async (): Promise<number[]> =>
      (await tickets.list(owner)).map(({ value }) => value.seat).toSorted((a, b) => a - b)
    expect(await put(4, 50, `${owner} 2`)).toBe(false)
    expect(await seats()).toEqual([1, 2, 3])
    expect(await put(5, 50)).toBeTypeOf('string')
    expect(await seats()).toEqual([1, 3, 5])
  })

  test('is a hundred where nobody says how many', async () => {
    const owner = randomUUID()
    await server.database.query(
      `insert into artifacts (kind, hash, value, expires_at, owner)
       select 'ticket', $1 || n, '{"seat":1}', now() + make_interval(secs => n), $1 from generate_series(100, 350) n`,
      [owner],
    )
    await tickets.put({ seat: 2 }, { owner })
    const [row] = await server.database.query('select count(*)::int from artifacts where owner = $1', [owner])
    expect(row).toEqual({ count: 100 })
  })
})

describe('what a user owns', () => {
  test('is of users that there are', async () => {
    for (const owner of [NOBODY, 'not an id']) {
      expect(await invitations.put({ seat: 1 }, { owner })).toBe(false)
      expect(await invitations.list(owner)).toEqual([])
    }
  })

  test('stands in their export as its kind describes it, however much it is, and no secret does', async () => {
    const handle = await invitations.put({ seat: 1, secret: 'hunter2' }, { owner: alice })
    await silent.put({ seat: 2, secret: 'hunter2' }, { owner: alice })
    await invitations.put({ seat: 3 }, { owner: bob })
    await server.database.query(
      `insert into artifacts (kind, hash, value, expires_at, owner)
       select 'of-yesterday', n, '{"secret":"hunter2"}', now() + interval '1 hour', $1 from generate_series(1, 250) n`,
      [alice],
    )
    const exported = await users.export(alice)
    const expires_at = expect.any(String) as unknown
    expect(exported).toMatchObject({
      artifacts: { invitation: [{ seat: 1, expires_at }], silent: [{ expires_at }] },
    })
    expect((exported['artifacts'] as Record<string, unknown[]>)['of-yesterday']).toHaveLength(250)
    expect(JSON.stringify(exported)).not.toMatch(new RegExp(`hunter2|${String(handle)}`))
  })

  test('is gone with them, spent or not, also what is put at the same moment', async () => {
    const spent = await invitations.put({ seat: 1 }, { owner: bob })
    await invitations.spend(String(spent))
    expect(await invitations.put({ seat: 2 }, { owner: bob })).toBeTypeOf('string')
    const until = new AbortController()
    const puts: Promise<unknown>[] = []
    while (!until.signal.aborted && puts.length < 40) {
      puts.push(second.invitations.put({ seat: puts.length }, { owner: bob, most: 1000 }))
      if (puts.length === 20) void users.delete(BOB.username).then(() => until.abort())
      await new Promise(setImmediate)
    }
    await Promise.all(puts)
    await expect.poll(() => until.signal.aborted).toBe(true)
    expect(await invitations.put({ seat: 1 }, { owner: bob })).toBe(false)
    expect(await server.database.query('select * from artifacts where owner = $1', [bob])).toEqual([])
    expect(await invitations.list(alice)).toHaveLength(1)
  })
})

test('a plugin that was written for a put that throws is refused at the start with what it is to write', async () => {
  const old = 60 as unknown as { lifetime: number }
  await expect(
    startServer({}, { extend: ({ oauth }) => void oauth.artifacts('voucher', old) }),
  ).rejects.toThrow(
    'The artifacts voucher are declared by { lifetime: 60 } instead of 60, and put(value, { handle }) answers false where the handle is taken.',
  )
  for (const [kind, lifetime] of [
    ['', 60],
    ['voucher', 0],
    ['voucher', Number.NaN],
  ] as const)
    // prettier-ignore
    await expect(
      startServer({}, { extend: ({ oauth }) => void oauth.artifacts(kind, { lifetime }) }),
    ).rejects.toThrow('need a kind and a lifetime in seconds')
  await expect(tickets.put({ seat: 1 }, 'a handle' as unknown as object)).rejects.toThrow('with { handle }')
})

test('what is noted with a replacement is stored with it, and goes with nothing else', async () => {
  const { audit } = server.server.oauth
  const noted = async () => (await audit.list({ type: 'ciba.denied' })).events.length
  const event = { type: 'ciba.denied', user: alice, details: { request: 'r', address: 'a' } } as const
  const handle = await tickets.put({ seat: 1 })
  const all = [server, second, server, second].map(async (at, seat) =>
    at.tickets.replace(handle, { seat: 1 }, { seat: seat + 2 }, event),
  )
  expect((await Promise.all(all)).filter(Boolean)).toHaveLength(1)
  expect(await noted()).toBe(1)
  expect(await tickets.replace(handle, { seat: 1 }, { seat: 9 }, event)).toBe(false)
  expect(await noted()).toBe(1)
})

test('of what a user has one of, the later takes the place of the earlier also where both are put at once', async () => {
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const { id } = await users.create({ username: 'of-one' })
  const put = await withClient(server.database, async (holder) => {
    await holder.query('begin')
    await holder.query('select from users where id = $1 for update', [id])
    const both = Promise.all([
      invitations.put({ seat: 71 }, { owner: id, most: 1 }),
      second.invitations.put({ seat: 72 }, { owner: id, most: 1 }),
    ])
    await expect.poll(async () => server.database.query(waiting)).toHaveLength(2)
    await holder.query('commit')
    return both
  })
  const found = await Promise.all(put.map(async (handle) => invitations.get(String(handle))))
  expect(found.filter((one) => one !== null)).toHaveLength(1)
  expect(await invitations.list(id)).toHaveLength(1)
})
