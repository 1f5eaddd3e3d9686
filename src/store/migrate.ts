/** Brings a database to the newest schema, also when several processes start at once; or says what it lacks. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { migrationNames as names, oldestBeside } from '../migrations/names.ts'
import { carryOn } from './distribution/migrated.ts'
import { sqlState } from './failures.ts'
import { retried } from './retries.ts'
import { qualified, withClient, type Place } from './connections.ts'

/** Any number that no other program on the database is likely to choose. */
const LOCK = 7_258_146_093
const UNDEFINED_TABLE = '42P01'
const LOCK_NOT_AVAILABLE = '55P03'
const newestOurs = names.toSorted().at(-1)!
/** Milliseconds between two questions whether it is our turn. */
const TURN = 100
/** Milliseconds that a migration waits for a lock: so long others wait behind it, and all who sign in with them. */
const LOCK_WAIT = 1000
/** Milliseconds between two tries, in which they go on; and for all of them, which the log calls two minutes. */
const PAUSE = 2000
const PATIENCE = 120_000

export interface MigrateOptions {
  /** Told once of each migration that cannot have its lock, and is tried again. */
  onWait?: ((migration: string) => void) | undefined
  /** Milliseconds after which the last one of its tries begins. Default two minutes. */
  patience?: number | undefined
}

/** Somebody else holds what it needs, for longer than anybody waits. */
class LockedOut extends Error {
  override readonly name = 'ConfigError'

  constructor(migration: string, waited: number, cause: unknown) {
    super(
      `The migration ${migration} could not lock what it changes for ${waited / 1000} s: look in pg_stat_activity for who holds a transaction open, and start again.`,
      { cause },
    )
  }
}

/**
 * Runs the migrations that are missing; when none is, one query shows it. Throws what PostgreSQL says, and a sentence where
 * it is that a lock could not be had. The place, or its URL, may need to belong to a role that may create tables.
 */
export async function migrate(at: Place | string, options: MigrateOptions = {}): Promise<void> {
  const place = typeof at === 'string' ? { url: at } : at
  await retried(async () =>
    withClient(place, async (client) => {
      if ((await missingIn(client, place)).length > 0) await runMissing(place, client, options)
    }),
  )
}

/** Whose schema it is: by a comment on the table of migrations, which every version since writes that migrates. */
interface Marks {
  /** The newest migration of who wrote it, and the newest of the oldest version that may run beside that. */
  readonly newest: string
  readonly oldest: string
}

/** A later version, whose schema the database has. */
export interface LaterVersion {
  /** Its newest migration. */
  readonly newest: string
  /** Whether it says that this version may run beside it. */
  readonly isWelcoming: boolean
}

/** Null as a rule. */
export async function findLater(place: Place): Promise<LaterVersion | null> {
  return retried(async () => withClient(place, async (client) => laterIn(client, place)))
}

/** What the database says, as it is read here: a pool that was lent may read text in its own way. */
async function ask<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const { rows } = await client.query<Row>({ text, values, types: pg.types })
  return rows
}

async function laterIn(client: pg.ClientBase, place: Place): Promise<LaterVersion | null> {
  const done = await doneIn(client, place)
  const newer = done.filter((name) => !names.includes(name)).toSorted()
  const newest = newer.at(-1)
  if (newest === undefined) return null
  const [row] = await ask<{ comment: string | null }>(
    client,
    `select obj_description($1::regclass, 'pg_class') as comment`,
    [qualified(place, 'migrations')],
  )
  const marks = parseMarks(row?.comment ?? '')
  return { newest, isWelcoming: marks !== null && newest <= marks.newest && newestOurs >= marks.oldest }
}

function parseMarks(comment: string): Marks | null {
  const [, oldest, newest] = /^Latchkey: from (\w+) to (\w+)$/.exec(comment) ?? []
  return oldest === undefined || newest === undefined ? null : { oldest, newest }
}

/** The names of the migrations that the database lacks. */
export async function missingMigrations(place: Place): Promise<string[]> {
  return retried(async () => withClient(place, async (client) => missingIn(client, place)))
}

async function missingIn(client: pg.ClientBase, place: Place): Promise<string[]> {
  const done = new Set(await doneIn(client, place))
  return names.filter((name) => !done.has(name))
}

async function doneIn(client: pg.ClientBase, place: Place): Promise<string[]> {
  try {
    const rows = await ask<{ name: string }>(client, `select name from ${qualified(place, 'migrations')}`)
    return rows.map(({ name }) => name)
  } catch (error) {
    if (sqlState(error) === UNDEFINED_TABLE) return []
    throw error
  }
}

/**
 * The migrator takes no lock; ours belongs to a transaction, which poolers keep on one connection. Where nothing is yet, all
 * migrations are one transaction: a first start that fails leaves no schema. Else each is one of its own, so that what it
 * has locked is free before the next one waits for its locks: a start that ends between two leaves a schema that the
 * version before runs on, and the next start goes on there.
 */
async function runMissing(place: Place, guard: pg.ClientBase, options: MigrateOptions): Promise<void> {
  const [here] = await ask<{ name: string }>(guard, 'select current_database() as name')
  const [{ MikroORM }, { migratorOptions }] = await Promise.all([
    import('@mikro-orm/postgresql'),
    import('./migrator.ts'),
  ])
  const ofOrm = { ...migratorOptions(place), dbName: here!.name, connect: false }
  const orm = await MikroORM.init(ofOrm as Parameters<typeof MikroORM.init>[0])
  const schema = place.schema === undefined ? {} : { schema: place.schema }
  const marks = `Latchkey: from ${oldestBeside} to ${newestOurs}`
  const run = async (migrations: string[]): Promise<void> =>
    orm.em.fork().transactional(async (em) => {
      const transaction = em.getTransactionContext()
      // Whatever our role is told as a rule: a migration may take its time, and not that of others.
      for (const limit of ['statement_timeout = 0', `lock_timeout = ${LOCK_WAIT}`])
        await em.getConnection().execute(`set local ${limit}`, [], 'run', transaction)
      await orm.migrator.up({ migrations, transaction, ...schema })
      await carryOn(
        { query: async (text) => ({ rows: await em.getConnection().execute(text, [], 'all', transaction) }) },
        place.schema,
      )
      const mark = `comment on table ${qualified(place, 'migrations')} is '${marks}'`
      await em.getConnection().execute(mark, [], 'run', transaction)
    })
  try {
    await alone(guard, async () => {
      // It makes its own table first: were that asked for within a migration, it would take one more connection.
      const missing = (await orm.migrator.getPending(schema)).map(({ name }) => name)
      const steps = missing.length === names.length ? [missing] : missing.map((name) => [name])
      for (const step of steps) await patiently(step.at(-1)!, async () => run(step), options)
    })
  } finally {
    await orm.close(true)
  }
}

/**
 * One process at a time, however long another one takes. Who waits asks again and again, and holds no transaction meanwhile:
 * a pooler has few connections, and whose turn it is needs two of them.
 */
async function alone(guard: pg.ClientBase, run: () => Promise<void>): Promise<void> {
  const once = async (): Promise<boolean> => {
    await guard.query('begin isolation level read committed')
    await guard.query('set local idle_in_transaction_session_timeout = 0')
    const { rowCount } = await guard.query('select where pg_try_advisory_xact_lock($1)', [LOCK])
    const isOurs = rowCount === 1
    if (isOurs) await run()
    await guard.query('commit')
    return isOurs
  }
  try {
    while (!(await once())) await delay(TURN)
  } catch (error) {
    // A connection that is lent goes back as it came.
    await guard.query('rollback').catch(() => {})
    throw error
  }
}

/** Again and again while somebody else holds what it needs: nothing of it has happened then. */
async function patiently(
  migration: string,
  run: () => Promise<void>,
  { onWait = () => {}, patience = PATIENCE }: MigrateOptions,
): Promise<void> {
  const end = performance.now() + patience
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await run()
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error
      if (performance.now() > end) throw new LockedOut(migration, patience, error)
      if (isFirst) onWait(migration)
      await delay(PAUSE)
    }
  }
}
