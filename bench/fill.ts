// Owns the filling of a database with many rows, in the schema and with the indexes that the migrations made, and
// what they take up.

import type { ClientBase } from 'pg'
import { fillings, type Sizes } from './fill-tables.ts'

export interface Filled {
  table: string
  rows: number
  seconds: number
}

export interface Size {
  /** A table without its indexes, or an index. */
  name: string
  table: string
  bytes: number
  rows: number
}

/** Fills an empty, migrated database; at the end the planner knows what is there. */
export async function fill(client: ClientBase, sizes: Sizes, tell?: (one: Filled) => void): Promise<void> {
  await client.query('set synchronous_commit = off')
  for (const { table, columns, rows, values } of fillings(sizes)) {
    const began = performance.now()
    await client.query(`insert into ${table} (${columns}) select ${values}
      from generate_series(1, ${Math.ceil(rows)}) n on conflict do nothing`)
    tell?.({ table, rows: Math.ceil(rows), seconds: (performance.now() - began) / 1000 })
  }
  await client.query('vacuum analyze')
}

/** Tables and indexes, with the rows of the table that `vacuum` counted. */
export async function sizesOf(client: ClientBase): Promise<Size[]> {
  const { rows } = await client.query<Size>(`
    select r.relname as "name", t.relname as "table", pg_table_size(r.oid)::float8 as "bytes", t.reltuples::float8 as "rows"
    from pg_class t left join pg_index i on i.indrelid = t.oid join pg_class r on r.oid in (t.oid, i.indexrelid)
    where t.relkind = 'r' and t.relnamespace = current_schema()::regnamespace
    group by 1, 2, 3, 4, r.relkind order by t.relname, r.relkind desc, r.relname`)
  return rows
}
