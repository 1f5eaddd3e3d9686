/** The feed of changes: written by whoever changes something, read by everybody's poll. */
import type { EntityManager } from '@mikro-orm/postgresql'
import { randomUUID } from 'node:crypto'
import { Change, type ChangeKind } from '../entities/change.ts'
import type { Database } from './database.ts'
import { type Query, statement } from './statement.ts'

export type { ChangeKind }

export interface ChangeRow {
  id: string
  kind: ChangeKind
  key: string
  expiresAt: Date | null
}

/**
 * One row at least, for the database's clock: `id` is null when nothing changed. `oldest` is when the first transaction of ours began that has written
 * and is not over, so that nobody sees yet what that was. One may be many statements, each within its limit, or its commit wait for a disk; and for a
 * standby that is away it waits for as long as that is, which no limit ends.
 */
type FeedRow = { now: Date; oldest: Date | null } & (
  | ChangeRow
  | { id: null; kind: null; key: null; expiresAt: null }
)

/** No transaction of ours lasts longer; what somebody else holds open in our name does not have everything read again and again. */
const LONGEST = `interval '10 minutes'`

export const statements = {
  since: statement<FeedRow>('changes-since', (table) => {
    const change = table(Change)
    return `select now() as "now", (select min(xact_start) from pg_stat_activity
        where datname = current_database() and usename = current_user
          and (wait_event = 'SyncRep' or (backend_xid is not null and xact_start > now() - ${LONGEST}))) as "oldest",
        ${change.columns('id', 'kind', 'key', 'expiresAt')}
      from (select 1) one left join ${change.name} on ${change.column('changedAt')} > $1`
  }),
  record: statement('change-record', (table) => {
    const change = table(Change)
    const columns = (['id', 'kind', 'key', 'expiresAt'] as const).map((one) => change.column(one)).join(', ')
    return `insert into ${change.name} (${columns}) values ($1, $2, $3, $4)`
  }),
  /** Many of the kind $1: ids $2, keys $3. */
  recordAll: statement('changes-record', (table) => {
    const change = table(Change)
    const columns = (['kind', 'id', 'key'] as const).map((one) => change.column(one)).join(', ')
    return `insert into ${change.name} (${columns}) select $1, * from unnest($2::uuid[], $3::text[])`
  }),
}

/** What changed after `since`, the database's clock at that moment, and since when what comes later may have waited. */
export async function changesSince(
  database: Database,
  since: Date,
): Promise<{ now: Date; oldest: Date | null; changes: ChangeRow[] }> {
  const rows = await database.query(statements.since, [since])
  const { now, oldest } = rows[0]!
  return { now, oldest, changes: rows.filter((row): row is FeedRow & ChangeRow => row.id !== null) }
}

/** Tells every process, when the transaction that `query` belongs to commits. */
export async function recordChange(
  query: Query,
  kind: ChangeKind,
  key: string,
  expiresAt: Date | null = null,
): Promise<void> {
  await query(statements.record, [randomUUID(), kind, key, expiresAt])
}

/** The same of many. */
export async function recordChanges(query: Query, kind: ChangeKind, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  await query(statements.recordAll, [kind, keys.map(() => randomUUID()), keys])
}

/** The same within an entity manager's transaction. */
export function persistChange(em: EntityManager, kind: ChangeKind, key: string): void {
  em.create(Change, { id: randomUUID(), kind, key }, { persist: true })
}
