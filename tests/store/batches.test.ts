/** Statements that travel together: who gets what, and that none of them suffers from another. */
import pg from 'pg'
import { expect, test } from 'vitest'
import { isUnavailable, sqlState } from '../../src/store/failures.ts'
import { openDatabase } from '../../src/store/database.ts'
import { statement, type Travels } from '../../src/store/statement.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createDatabase } from '../support/database.ts'

const { url, query: directly } = await createDatabase()
await directly(`create table things (id text primary key, times int not null default 0)`)
await directly(`insert into things select 'thing ' || n from generate_series(1, 200) n`)

const open = async (options: { poolSize?: number; prepare?: boolean } = {}) => {
  const database = await openDatabase({ url, ...options })
  atEndOfFile(database.close)
  return database
}

let names = 0
const sql = <Row>(text: string, travels?: Travels) => statement<Row>(`test-${++names}`, () => text, travels)

const transactionOf = sql<{ transaction: string }>(
  `select pg_current_xact_id()::text as transaction where $1::text is not null`,
  'with writers',
)
const count = sql<{ times: number }>(
  `update things set times = times + 1 where id = $1 returning times`,
  'with writers',
)
const timesOf = async (id: string) =>
  (await directly<{ times: number }>('select times from things where id = $1', [id]))[0]?.times

test.for([{ prepare: true }, { prepare: false }])(
  'what is asked at once is one transaction, and each gets its own rows: %o',
  async (options) => {
    const database = await open(options)
    for (let time = 0; time < 3; time++) {
      const answers = await Promise.all(['a', 'b', 'c'].map((one) => database.query(transactionOf, [one])))
      expect(new Set(answers.flat().map(({ transaction }) => transaction)).size).toBe(1)
    }
    const echo = sql<{ value: string }>(
      `select $1 || n::text as value from generate_series(1, $2::int) n`,
      'with readers',
    )
    const values = await Promise.all([2, 0, 3].map((n) => database.query(echo, [`of ${n}: `, n])))
    expect(values.map((rows) => rows.map(({ value }) => value))).toEqual([
      ['of 2: 1', 'of 2: 2'],
      [],
      ['of 3: 1', 'of 3: 2', 'of 3: 3'],
    ])
    // Another time it need not be asked what the rows look like.
    expect(await database.query(echo, ['', 1])).toEqual([{ value: '1' }])
  },
)

test('values go in and come out as they do alone', async () => {
  const database = await open()
  const text = `select $1::text as "text", $2::jsonb as "json", $3::text[] as "list", $4::timestamptz as "date",
    $5::float8 as "number", $6::bool as "yes", $7::text as "none", $8::int8 as "big"`
  const values = ['ä"\\', { a: ['"', null] }, ['a b', '"', '\\', ''], new Date(), 0.1, true, null, 5]
  const [alone] = await database.query(sql(text), values)
  const [together] = await database.query(sql(text, 'with readers'), values)
  expect(together).toEqual(alone)
  expect(together).toMatchObject({ json: { a: ['"', null] }, date: values[3], none: null })
  await expect(database.query(sql(text, 'with readers'), [Object.assign({}, { toJSON: () => { throw new Error('no JSON') } })])).rejects.toThrow('no JSON') // prettier-ignore
})

test('a thousand at once are all done, each once', async () => {
  const database = await open({ poolSize: 2 })
  const ids = Array.from({ length: 1000 }, (_, index) => `thing ${(index % 100) + 1}`)
  const answers = await Promise.all(ids.map((id) => database.query(count, [id])))
  expect(answers.every((rows) => rows.length === 1)).toBe(true)
  expect(await directly('select distinct times from things where id = any($1)', [ids])).toEqual([
    { times: 10 },
  ])
})

test('one that is refused takes nobody along', async () => {
  const database = await open()
  const divide = sql<{ result: number }>(`select 1 / $1::int as result`, 'with writers')
  const before = await timesOf('thing 101')
  const settled = await Promise.allSettled([
    database.query(count, ['thing 101']),
    database.query(divide, [0]),
    database.query(divide, [1]),
    database.query(count, ['thing 102']),
  ])
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  expect(sqlState((settled[1] as PromiseRejectedResult).reason)).toBe('22012')
  expect(await timesOf('thing 101')).toBe(before! + 1)
  // And again, now that everything is prepared.
  await expect(Promise.all([database.query(count, ['thing 101']), database.query(divide, [0])])).rejects.toThrow(
    'division by zero',
  ) // prettier-ignore
  await expect.poll(() => timesOf('thing 101')).toBe(before! + 2)
  expect(await database.query(divide, [1])).toEqual([{ result: 1 }])
})

test('who waits for a lock keeps nobody waiting who comes later', async () => {
  const database = await open()
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  await holder.query(`begin; select from things where id = 'thing 110' for update`)
  let waits = true
  const waiting = Promise.all([
    database.query(count, ['thing 110']),
    database.query(count, ['thing 110']),
  ]).finally(() => (waits = false))
  const locked = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await expect.poll(() => directly(locked)).toHaveLength(1)
  for (let time = 0; time < 20; time++)
    expect(await database.query(count, [`thing ${120 + time}`])).toEqual([{ times: 1 }])
  expect(waits).toBe(true)
  await holder.query('commit')
  expect((await waiting).flat().map(({ times }) => times)).toEqual([1, 2])
  await holder.end()
})

test('a connection that breaks fails those that it carried, and the next go on', async () => {
  const database = await open()
  const pid = sql<{ pid: number }>(`select pg_backend_pid() as pid`, 'with writers')
  const forEver = sql(`select pg_sleep(60) where $1::text is not null`, 'with writers')
  const [mine] = await database.query(pid)
  const failing = Promise.allSettled([database.query(forEver, ['1']), database.query(count, ['thing 150'])])
  const sleeping = `from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
  await expect.poll(() => directly(`select pid ${sleeping}`)).toHaveLength(1)
  await directly(`select pg_terminate_backend(pid) ${sleeping}`)
  const settled = await failing
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  for (const one of settled) expect(isUnavailable((one as PromiseRejectedResult).reason)).toBe(true)
  expect(await timesOf('thing 150')).toBe(0)
  const [next] = await database.query(pid)
  expect(typeof mine?.pid).toBe('number')
  expect(next?.pid).not.toBe(undefined)
})

test('what gets no answer fails in time, by whichever way it went, and the next go on', async () => {
  const database = await open()
  const forEver = `select pg_sleep(60) where $1::text is not null`
  const ways = [sql(forEver), sql(forEver, 'with readers'), sql(forEver, 'with writers')]
  const settled = await Promise.allSettled(ways.map(async (way) => database.query(way, ['1'])))
  for (const one of settled) expect(isUnavailable((one as PromiseRejectedResult).reason)).toBe(true)
  // PostgreSQL goes on with none of them.
  const sleeping = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
  expect(await directly(sleeping)).toEqual([])
  await expect.poll(() => database.connections()).toMatchObject({ waiting: 0 })
  expect(await database.query(count, ['thing 170'])).toEqual([{ times: 1 }])
})

test('a transaction knows what a batch has prepared on its connection, and the reverse', async () => {
  const database = await open({ poolSize: 1 })
  for (let time = 0; time < 2; time++) {
    await database.query(count, ['thing 160'])
    await database.transaction(async (query) => query(count, ['thing 160']))
  }
  const fresh = sql<{ one: number }>(`select 1 as one where $1::text is not null`, 'with readers')
  await database.transaction(async (query) => query(fresh, ['']))
  expect(await database.query(fresh, [''])).toEqual([{ one: 1 }])
  expect(await timesOf('thing 160')).toBe(4)
})
