/** How a database is distributed, which its catalogue tells: nobody sets it. */
import type pg from 'pg'
import { withClient, type Place } from '../connections.ts'
import { retried } from '../retries.ts'
import { distributedTables } from './tables.ts'

/** `fdw` for partitions on other servers by postgres_fdw. */
export type Engine = 'fdw'

/** Null for a database on one server. */
export async function engineOf(place: Place): Promise<Engine | null> {
  return withClient(place, async (client) => retried(async () => engineOn(client, place.schema)))
}

export async function engineOn(client: pg.ClientBase, schema?: string): Promise<Engine | null> {
  const { rows } = await client.query<{ foreign: boolean }>(
    `select exists (select from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = to_regclass($1) and relkind = 'f') as "foreign"`,
    [distributedTables(schema)[0]!.name],
  )
  return rows[0]!.foreign ? 'fdw' : null
}
