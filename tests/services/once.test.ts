/** What may be used once is, over all processes, whatever the database does meanwhile. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { Type } from '../../src/protocol/schema.ts'
import { createOnce } from '../../src/services/once.ts'
import { isUnavailable } from '../../src/store/failures.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { createDatabase } from '../support/database.ts'
import { openAs } from '../support/expired-rows.ts'
import { startServer } from '../support/server.ts'

const database = await createDatabase()
/** Of two processes. */
const [one, two] = [createOnce(await openAs(database)), createOnce(await openAs(database))]
const soon = (): Date => new Date(Date.now() + 60_000)

test('of 50 uses of one handle by two processes at once, exactly one is the first', async () => {
  const handle = randomUUID()
  const until = soon()
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, at) => (at % 2 === 0 ? one : two)('proof', handle, until)),
  )
  expect(answers.filter((first) => first)).toHaveLength(1)
  expect(await two('proof', handle, soon())).toBe(false)
})

test('a handle of one kind is none of another, and is not stored as it is', async () => {
  const handle = `secret ${randomUUID()}`
  expect(await one('proof', handle, soon())).toBe(true)
  expect(await one('assertion', handle, soon())).toBe(true)
  const stored = JSON.stringify(await database.query('select * from spent_handles'))
  expect(stored).not.toContain(handle)
})

test('what has expired is not used for the first time any more', async () => {
  expect(await one('proof', randomUUID(), new Date(Date.now() - 1))).toBe(false)
})

test.each([new Date(Date.now() + 90_000_000), new Date(Number.NaN)])(
  'what would have to be remembered until %s is refused, and is not stored',
  async (until) => {
    const before = await database.query('select hash from spent_handles')
    await expect(one('proof', randomUUID(), until)).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'what may be used once must expire within a day',
    })
    expect(await database.query('select hash from spent_handles')).toEqual(before)
  },
)

test('those of many requests are stored together', async () => {
  await database.query('delete from spent_handles')
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_, at) => one('proof', `handle ${at}`, soon())),
  )
  expect(answers.every((first) => first)).toBe(true)
  const [row] = await database.query(
    'select count(distinct xmin::text)::int as transactions from spent_handles',
  )
  expect(row!['transactions']).toBeLessThanOrEqual(3)
})

/** What is known of it when the answer did not come. */
const failureOf = async (use: Promise<boolean>): Promise<unknown> =>
  use.then(
    () => undefined,
    (error: unknown) => error,
  )

test('while the database is away nothing is used for the first time; when it is back it is, once', async () => {
  const proxy = await startDatabaseProxy(database.url)
  const away = createOnce(await openAs({ ...database, url: proxy.url }))
  const handle = randomUUID()
  await proxy.cut()
  expect(isUnavailable(await failureOf(away('proof', handle, soon())))).toBe(true)
  await proxy.restore()
  expect([await away('proof', handle, soon()), await one('proof', handle, soon())]).toEqual([true, false])
})

test('what was stored, and nobody heard of it, is not used a second time', async () => {
  const proxy = await startDatabaseProxy(database.url)
  const away = createOnce(await openAs({ ...database, url: proxy.url }))
  const handle = randomUUID()
  proxy.cutAt('spent_handles', 'after')
  expect(isUnavailable(await failureOf(away('proof', handle, soon())))).toBe(true)
  expect([await away('proof', handle, soon()), await one('proof', handle, soon())]).toEqual([false, false])
})

test('a request that waits for a database that does not answer is told to come back, and nothing is used twice', async () => {
  const proxy = await startDatabaseProxy(database.url)
  const server = await startServer(
    { DATABASE_URL: proxy.url },
    {
      database: { ...database, url: proxy.url },
      extend: ({ oauth }) =>
        oauth.registerEndpoint({
          path: '/use',
          caller: 'anybody',
          parameters: Type.Object({ handle: Type.String() }),
          handle: async ({ handle: used }) => ({ first: await oauth.once('proof', used, soon()) }),
        }),
    },
  )
  const handle = randomUUID()
  const use = async (): Promise<Response> => server.post('/use', { handle })
  await server.post('/use', { handle: randomUUID() })
  proxy.stall('answers')
  const refused = await use()
  expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true])
  await proxy.restore()
  // It was stored, and only the answer was missing.
  let again = refused
  await expect.poll(async () => (again = await use()).status).toBe(200)
  expect(await again.json()).toEqual({ first: false })
  expect(await one('proof', handle, soon())).toBe(false)
})
