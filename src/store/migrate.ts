/** Brings a database to the newest schema, also when several processes start at once; or says what it lacks. */
import type pg from 'pg'
import { migrationNames as names } from '../migrations/names.ts'
import { sqlState } from './failures.ts'
import { retried } from './retries.ts'
import { qualified, withClient, type Place } from './connections.ts'

/** Any number that no other program on the database is likely to choose. */
const LOCK = 7_258_146_093
const UNDEFINED_TABLE = '42P01'

/**
 * Runs the migrations that are missing; when none is, one query shows it. Throws what PostgreSQL says.
 * The place, or its URL, may need to belong to a role that may create tables.
 */
export async function migrate(at: Place | string): Promise<void> {
  const place = typeof at === 'string' ? { url: at } : at
  await retried(async () =>
    withClient(place, async (client) => {
      if ((await missingIn(client, place)).length > 0) await runMissing(place, client)
    }),
  )
}

/** The names of the migrations that the database lacks. */
export async function missingMigrations(place: Place): Promise<string[]> {
  return retried(async () => withClient(place, async (client) => missingIn(client, place)))
}

async function missingIn(client: pg.ClientBase, place: Place): Promise<string[]> {
  try {
    const { rows } = await client.query<{ name: string }>(
      `select name from ${qualified(place, 'migrations')}`,
    )
    const done = new Set(rows.map(({ name }) => name))
    return names.filter((name) => !done.has(name))
  } catch (error) {
    if (sqlState(error) === UNDEFINED_TABLE) return names
    throw error
  }
}

/** The migrator takes no lock; ours belongs to a transaction, which poolers keep on one connection. */
async function runMissing(place: Place, guard: pg.ClientBase): Promise<void> {
  const { rows } = await guard.query<{ name: string }>('select current_database() as name')
  const [{ MikroORM }, { migratorOptions }] = await Promise.all([
    import('@mikro-orm/postgresql'),
    import('./migrator.ts'),
  ])
  const options = { ...migratorOptions(place), dbName: rows[0]!.name, connect: false }
  const orm = await MikroORM.init(options as Parameters<typeof MikroORM.init>[0])
  try {
    await guard.query('begin')
    await guard.query('select pg_advisory_xact_lock($1)', [LOCK])
    await orm.migrator.up(place.schema === undefined ? {} : { schema: place.schema })
    await guard.query('commit')
  } catch (error) {
    // A connection that is lent goes back as it came.
    await guard.query('rollback').catch(() => {})
    throw error
  } finally {
    await orm.close(true)
  }
}
