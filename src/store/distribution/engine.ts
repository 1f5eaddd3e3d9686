/** How a database is distributed, which its catalogue tells: nobody sets it. */
import type pg from 'pg'
import { withClient, type Place } from '../connections.ts'
import type { Engine } from '../engines.ts'
import { retried } from '../retries.ts'
import { distributedTables, type DistributedTable } from './tables.ts'

/** Null for a database on one server. */
export async function engineOf(place: Place): Promise<Engine | null> {
  return withClient(place, async (client) => retried(async () => engineOn(client, place.schema)))
}

export async function engineOn(client: pg.ClientBase, schema?: string): Promise<Engine | null> {
  const [{ name }] = distributedTables(schema) as [DistributedTable]
  const { rows } = await client.query<{ foreign: boolean; citus: boolean }>(
    `select exists (select from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = to_regclass($1) and relkind = 'f') as "foreign",
      exists (select from pg_extension where extname = 'citus') as "citus"`,
    [name],
  )
  if (rows[0]!.foreign) return 'fdw'
  if (!rows[0]!.citus) return null
  const placed = await client.query('select from pg_dist_partition where logicalrelid = to_regclass($1)', [name])
  return placed.rowCount === 0 ? null : 'citus'
} // prettier-ignore
