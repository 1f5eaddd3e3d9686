/** Brings a database to the newest schema, also when several processes start at once. */
import { MikroORM } from '@mikro-orm/postgresql'
import pg from 'pg'
import { ormOptions } from './orm.ts'

/** Any number that no other program on the database is likely to choose. */
const LOCK = 7_258_146_093

/**
 * Runs the migrations that are missing. The migrator itself takes no lock, so one is held around it: by a
 * transaction and not a session, since poolers keep a transaction on one connection. Throws what PostgreSQL says.
 */
export async function migrate(url: string): Promise<void> {
  const guard = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  await guard.connect()
  const orm = await MikroORM.init({ ...ormOptions(url, 2), connect: false } as Parameters<
    typeof MikroORM.init
  >[0])
  try {
    await guard.query('begin')
    await guard.query('select pg_advisory_xact_lock($1)', [LOCK])
    await orm.migrator.up()
    await guard.query('commit')
  } finally {
    await orm.close(true)
    await guard.end()
  }
}
