// Owns the filling of a database with many rows, in the schema and with the indexes that the migrations made, and
// what they take up.

import type { ClientBase } from 'pg'
import { fillings } from './fill-tables.ts'
import type { Filling, Sizes } from './filling.ts'
import { withoutIndexes } from './indexes.ts'

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

/** From so many rows on a table is loaded before its indexes are made, which is several times as fast. */
const many = 500_000

/**
 * Fills an empty, migrated database; at the end the planner knows what is there. With a second connection two large
 * tables are filled at a time.
 */
export async function fill(
  client: ClientBase,
  sizes: Sizes,
  tell: (one: Filled) => void = () => undefined,
  second?: ClientBase,
): Promise<void> {
  const clients = [client, ...(second ? [second] : [])]
  for (const one of clients)
    await one.query(`set synchronous_commit = off; set maintenance_work_mem = '1GB'; set jit = off`)
  const isLarge = ({ rows, distinct }: Filling) => distinct === true && rows >= many
  const all = fillings(sizes)
  for (const filling of all.filter((one) => !isLarge(one)))
    await timed(filling, tell, async () => insert(client, filling))

  const large = all.filter(isLarge).toSorted((a, b) => b.rows - a.rows)
  const worker = async (one: ClientBase) => {
    for (let filling = large.shift(); filling; filling = large.shift()) {
      const { table } = filling
      await timed(filling, tell, async () => withoutIndexes(one, table, async () => insert(one, filling)))
    }
  }
  await Promise.all(clients.map(worker))
  await timed(
    { table: 'vacuum analyze', rows: 0 },
    tell,
    async () => void (await client.query('vacuum analyze')),
  )
}

async function timed(
  { table, rows }: Pick<Filling, 'table' | 'rows'>,
  tell: (one: Filled) => void,
  work: () => Promise<void>,
): Promise<void> {
  const began = performance.now()
  await work()
  tell({ table, rows: Math.ceil(rows), seconds: (performance.now() - began) / 1000 })
}

async function insert(client: ClientBase, { table, columns, rows, values }: Filling): Promise<void> {
  await client.query(`insert into ${table} (${columns}) select ${values}
    from generate_series(1, ${Math.ceil(rows)}) n on conflict do nothing`)
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
