import { MikroORM } from '@mikro-orm/postgresql'
import { Client } from 'pg'
import { inject, expect, test } from 'vitest'
import { migrations } from '../../src/migrations/all.ts'
import { migrationNames, oldestBeside } from '../../src/migrations/names.ts'
import { migrate } from '../../src/store/migrate.ts'
import { migratorOptions } from '../../src/store/migrator.ts'
import { execute, withDatabase } from '../support/connection.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { runCommandHere } from '../support/command-here.ts'
import { runCommand } from '../support/process.ts'
import { startServer } from '../support/server.ts'

const NEWEST = migrationNames.toSorted().at(-1)!

test('several processes that migrate an empty database at once do it once', async () => {
  const { url } = await createEmptyDatabase()
  await Promise.all([migrate(url), migrate(url), migrate(url), migrate(url)])
  const rows = await execute<{ name: string }>(url, 'select name from migrations')
  expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length)
  expect(rows.length).toBeGreaterThan(0)
  await migrate(url)
  expect(await execute(url, 'select name from migrations')).toHaveLength(rows.length)
})

test('the names by which a start knows what is missing are those of the migrations', () => {
  expect(migrations.map((one) => new one({} as never, {} as never).name)).toEqual(migrationNames)
})

test('entities and migrations agree: the schema generator has nothing to change', async () => {
  const { url } = await createDatabase({ refusing: false })
  const orm = await MikroORM.init({ ...migratorOptions(url), connect: false } as Parameters<
    typeof MikroORM.init
  >[0])
  try {
    expect(await orm.schema.getUpdateSchemaSQL({ wrap: false })).toBe('')
  } finally {
    await orm.close(true)
  }
})

test('the schema has no sequences and no triggers', async () => {
  const { query } = await createDatabase({ refusing: false })
  const sequences = await query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'S' and relname not like 'migrations%'`,
  )
  expect(sequences).toEqual([])
  expect(await query('select tgname from pg_trigger where not tgisinternal')).toEqual([])
})

const WITHOUT_SPENT = 'Migration20261121000016_refresh_without_spent'
const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** As the version before had it, with somebody who holds what the migration wants to lock. */
async function holdRefreshTokens({ url, query }: TestDatabase): Promise<Client> {
  await query('delete from migrations where name = $1', [WITHOUT_SPENT])
  await query(`alter table refresh_tokens add column consumed_at timestamptz null,
    add column successor_hash text null, add column successor text null`)
  const holder = new Client({ connectionString: url })
  await holder.connect()
  await holder.query('begin; lock table refresh_tokens in access share mode')
  return holder
}

test('while a migration cannot have its lock others go on, and it comes to it when they are done', async () => {
  const database = await createDatabase({ refusing: false })
  const { url, query } = database
  const holder = await holdRefreshTokens(database)
  const waits: string[] = []
  const migrating = migrate(url, { onWait: (migration) => waits.push(migration) })
  await expect.poll(async () => query(waiting)).toHaveLength(1)
  // Behind it, who only reads would wait for as long as the lock is held.
  await query('select from refresh_tokens')
  await expect.poll(async () => query(waiting)).toHaveLength(0)
  await holder.end()
  await migrating
  expect(await query('select from migrations where name = $1', [WITHOUT_SPENT])).toHaveLength(1)
  expect(await query(`select from information_schema.columns where column_name = 'consumed_at'`)).toEqual([])
  expect(waits).toEqual([WITHOUT_SPENT])
})

test('who waits for a lock says so once, and goes on when it is free', async () => {
  const database = await createDatabase({ refusing: false })
  const holder = await holdRefreshTokens(database)
  const migrating = runCommandHere(['migrate'], { DATABASE_URL: database.url, SECRET_KEY: 'k'.repeat(32) })
  for (const tried of [1, 2]) {
    await expect.poll(async () => database.query(waiting)).toHaveLength(1)
    await expect.poll(async () => database.query(waiting)).toHaveLength(0)
    if (tried === 2) await holder.end()
  }
  const { status, stderr } = await migrating
  expect([status, stderr]).toEqual([
    0,
    `A migration waits for a lock that somebody else holds, and is tried again for two minutes (migration "${WITHOUT_SPENT}").\n`,
  ])
})

test('a lock that cannot be had at all: which migration, for how long, and where to look', async () => {
  const database = await createDatabase({ refusing: false })
  const holder = await holdRefreshTokens(database)
  await expect(migrate(database.url, { patience: 500 })).rejects.toMatchObject({
    name: 'ConfigError',
    message: `The migration ${WITHOUT_SPENT} could not lock what it changes for 0.5 s: look in pg_stat_activity for who holds a transaction open, and start again.`,
  })
  await holder.end()
  await migrate(database.url)
})

test('a migration that waits for its lock keeps none of those that ran before it', async () => {
  const { url, query } = await createDatabase({ refusing: false })
  const [first, second] = [WITHOUT_SPENT, 'Migration20261123000060_revoked_keys']
  await query('delete from migrations where name = any($1)', [[first, second]])
  await query(`alter table refresh_tokens add column consumed_at timestamptz null,
    add column successor_hash text null, add column successor text null`)
  await query('alter table signing_keys drop column revoked_at')
  const holder = new Client({ connectionString: url })
  await holder.connect()
  await holder.query('begin; lock table signing_keys in access share mode')
  const migrating = migrate(url)
  await expect.poll(async () => query(waiting)).toHaveLength(1)
  const locked = `select from pg_locks where relation = 'refresh_tokens'::regclass and mode = 'AccessExclusiveLock'`
  const done = 'select name from migrations where name = any($1)'
  expect([await query(locked), await query(done, [[first, second]])]).toEqual([[], [{ name: first }]])
  // The version before may be started meanwhile.
  expect(await query(`select obj_description('migrations'::regclass) as says`)).toEqual([
    { says: `Latchkey: from ${oldestBeside} to ${NEWEST}` },
  ])
  await holder.end()
  await migrating
  expect(await query(done, [[first, second]])).toHaveLength(2)
})

const FUTURE = 'Migration20991231000000_future'
const comeFrom = async ({ query }: TestDatabase, oldest: string, newest = FUTURE): Promise<void> => {
  await query('insert into migrations (name) values ($1)', [FUTURE])
  await query(`comment on table migrations is 'Latchkey: from ${oldest} to ${newest}'`)
}

test.for([
  [
    'says nothing of it',
    async ({ query }: TestDatabase) => query('insert into migrations (name) values ($1)', [FUTURE]),
  ],
  ['is two ahead', async (database: TestDatabase) => comeFrom(database, 'Migration20991230000000_between')],
  [
    'was changed by somebody else since',
    async (database: TestDatabase) => comeFrom(database, NEWEST, NEWEST),
  ],
] as const)(
  'a schema of a later version that %s: the start, its commands and doctor say so, in one sentence',
  async ([, change]) => {
    const database = await createDatabase({ refusing: false })
    await change(database)
    const settings = { DATABASE_URL: database.url, SECRET_KEY: 'k'.repeat(32) }
    for (const command of ['serve', 'migrate']) {
      const { status, stderr } = await (command === 'serve' ? runCommand : runCommandHere)(
        [command],
        settings,
      )
      expect([status, stderr]).toEqual([
        1,
        expect.stringMatching(
          /^.*schema of the database is that of a later version \(Migration20991231000000_future\).*\n$/,
        ),
      ])
    }
    const { status, stdout } = await runCommandHere(['doctor'], settings)
    expect([status, stdout]).toEqual([1, expect.stringContaining(FUTURE)])
  },
)

test('the version after this one says that this one may run beside its schema: it does, and doctor says so', async () => {
  const database = await createDatabase({ refusing: false })
  await comeFrom(database, NEWEST)
  const server = await startServer({}, { database })
  expect((await server.get('/readyz')).status).toBe(200)
  const { stdout } = await runCommandHere(['doctor'], server.settings)
  expect(stdout).toContain(
    `ok    schema: It is that of a later version (${FUTURE}), beside which this one may run.\n`,
  )
})

test('a migrated schema says by which version, and from which one on others may run beside it', async () => {
  const { query } = await createDatabase({ refusing: false })
  expect(await query(`select obj_description('migrations'::regclass) as says`)).toEqual([
    { says: `Latchkey: from ${oldestBeside} to ${NEWEST}` },
  ])
  expect(migrationNames).toContain(oldestBeside)
})

test('a database that is not there is said so', async () => {
  const url = withDatabase(inject('templateUrl'), 'latchkey_nowhere')
  await expect(migrate(url)).rejects.toMatchObject({ code: '3D000' })
})
