// Owns what PostgreSQL itself counts: the log that it writes ahead, transactions, and rows by table.

import { Client } from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Written {
  /** Bytes of the write-ahead log; of them full pages, that PostgreSQL logs at the first change after a checkpoint. */
  bytes: number
  pages: number
  /** How often the log was made to reach the disk. */
  syncs: number
  transactions: number
  /** By table: inserted, updated and deleted. */
  rows: Record<string, [number, number, number]>
}

export interface Account {
  /** What is written anew from here on is told by the function that this returns. */
  begin: () => Promise<() => Promise<Written>>
  close: () => Promise<void>
}

/** Milliseconds after which an idle backend has told what it counted. */
const REPORTED = 11_000

export async function openAccount(url: string): Promise<Account> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const position = async () =>
    (await client.query<{ lsn: string }>('select pg_current_wal_insert_lsn()::text as lsn')).rows[0]!.lsn

  return {
    begin: async () => {
      await sleep(REPORTED)
      await client.query('checkpoint')
      const before = await counted(client)
      const from = await position()
      return async () => {
        const to = await position()
        const { rows } = await client.query<{ bytes: string }>('select pg_wal_lsn_diff($1, $2) as bytes', [
          to,
          from,
        ])
        await sleep(REPORTED)
        return { ...difference(await counted(client), before), bytes: Number(rows[0]!.bytes) }
      }
    },
    close: async () => client.end(),
  }
}

type Counted = Omit<Written, 'bytes'>

async function counted(client: Client): Promise<Counted> {
  const version = Number(
    (await client.query<{ v: string }>(`select current_setting('server_version_num') v`)).rows[0]!.v,
  )
  const syncs =
    version >= 180_000
      ? `(select sum(fsyncs) from pg_stat_io where object = 'wal')`
      : `(select wal_sync from pg_stat_wal)`
  await client.query('select pg_stat_clear_snapshot()')
  const all = await client.query<{ pages: string; syncs: string; transactions: string }>(
    `select wal_fpi as pages, ${syncs} as syncs, xact_commit as transactions
     from pg_stat_wal, pg_stat_database where datname = current_database()`,
  )
  const tables = await client.query<{ table: string; inserted: string; updated: string; deleted: string }>(
    `select relname as table, n_tup_ins as inserted, n_tup_upd as updated, n_tup_del as deleted from pg_stat_user_tables`,
  )
  const { pages, syncs: synced, transactions } = all.rows[0]!
  return {
    pages: Number(pages),
    syncs: Number(synced),
    transactions: Number(transactions),
    rows: Object.fromEntries(
      tables.rows.map((row) => [row.table, [Number(row.inserted), Number(row.updated), Number(row.deleted)]]),
    ),
  }
}

function difference(after: Counted, before: Counted): Counted {
  const rows = Object.entries(after.rows).map(([table, counts]) => {
    const had = before.rows[table] ?? [0, 0, 0]
    return [table, counts.map((count, index) => count - had[index]!)] as const
  })
  return {
    pages: after.pages - before.pages,
    syncs: after.syncs - before.syncs,
    transactions: after.transactions - before.transactions,
    rows: Object.fromEntries(rows) as Written['rows'],
  }
}
