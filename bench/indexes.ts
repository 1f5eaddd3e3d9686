// Owns a table without its indexes and keys for as long as it is filled. In one transaction, that begins with an empty
// table: where `wal_level` is minimal, PostgreSQL logs nothing of it.

import type { ClientBase } from 'pg'

interface Made {
  drop: string
  create: string
}

export async function withoutIndexes(
  client: ClientBase,
  table: string,
  work: () => Promise<void>,
): Promise<void> {
  const { rows } = await client.query<Made>(
    `select format('alter table %I drop constraint %I', $1::text, conname) as "drop",
        format('alter table %I add constraint %I %s', $1::text, conname, pg_get_constraintdef(oid)) as "create"
      from pg_constraint where conrelid = $1::regclass and contype in ('p', 'u')
    union all
    select format('drop index %s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid)
      from pg_index i left join pg_constraint c on c.conindid = i.indexrelid
      where i.indrelid = $1::regclass and c.oid is null`,
    [table],
  )
  await client.query('begin')
  await client.query(`truncate ${table}`)
  for (const { drop } of rows) await client.query(drop)
  await work()
  for (const { create } of rows) await client.query(create)
  await client.query('commit')
}
