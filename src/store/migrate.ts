/** Brings a database to the newest schema, also when several processes start at once. */
import { MikroORM } from '@mikro-orm/postgresql'
import pg from 'pg'
import { migrations } from '../migrations/all.ts'
import { sqlState } from './failures.ts'
import { ormOptions } from './orm.ts'

/** Any number that no other program on the database is likely to choose. */
const LOCK = 7_258_146_093
const UNDEFINED_TABLE = '42P01'

/**
 * Runs the migrations that are missing; when none is, one query shows it. Throws what PostgreSQL says.
 * `url` may need to belong to a role that may create tables.
 */
export async function migrate(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  await client.connect()
  try {
    if (!(await isNewest(client))) await runMissing(url, client)
  } finally {
    await client.end()
  }
}

async function isNewest(client: pg.Client): Promise<boolean> {
  try {
    const { rows } = await client.query<{ name: string }>('select name from migrations')
    const done = new Set(rows.map(({ name }) => name))
    return migrations.every(({ name }) => done.has(name))
  } catch (error) {
    if (sqlState(error) === UNDEFINED_TABLE) return false
    throw error
  }
}

/** The migrator takes no lock; ours belongs to a transaction, which poolers keep on one connection. */
async function runMissing(url: string, guard: pg.Client): Promise<void> {
  const options = { ...ormOptions(url, 2, 0), connect: false }
  const orm = await MikroORM.init(options as Parameters<typeof MikroORM.init>[0])
  try {
    await guard.query('begin')
    await guard.query('select pg_advisory_xact_lock($1)', [LOCK])
    await orm.migrator.up()
    await guard.query('commit')
  } finally {
    await orm.close(true)
  }
}
