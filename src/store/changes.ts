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

/** One row at least, for the database's clock and what is seen at that moment: `id` is null when nothing changed. */
type FeedRow = { now: Date; snapshot: string } & (
  | ChangeRow
  | { id: null; kind: null; key: null; expiresAt: null }
)

/** Up to where a poll has read. */
export interface FeedPosition {
  /** Changes written later are read, whoever saw them before. */
  readonly since: Date
  /** A `pg_snapshot`: changes that it did not show are read, however long their transaction went on. Null before the first poll. */
  readonly snapshot: string | null
}

export const statements = {
  /** Written after $1, or not seen in the snapshot $2, for which those count that were under way then, or began later. Both ends of a range tell the planner that it is short. */
  since: statement<FeedRow>('changes-since', (table) => {
    const change = table(Change)
    return `select now() as "now", pg_current_snapshot()::text as "snapshot",
        ${change.columns('id', 'kind', 'key', 'expiresAt')}
      from (select 1) one left join ${change.name} on ${change.column('changedAt')} between $1 and 'infinity'
        or ${change.column('writer')} between pg_snapshot_xmax($2::pg_snapshot) and pg_snapshot_xmax(pg_current_snapshot())
        or ${change.column('writer')} = any(array(select pg_snapshot_xip($2::pg_snapshot)))`
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

/** What changed that was not read up to there, and up to where this has read. Of what was written shortly before, some comes once more. */
export async function changesSince(
  database: Database,
  { since, snapshot }: FeedPosition,
): Promise<{ now: Date; snapshot: string; changes: ChangeRow[] }> {
  const rows = await database.query(statements.since, [since, snapshot])
  const [first] = rows
  const changes = rows.filter((row): row is FeedRow & ChangeRow => row.id !== null)
  return { now: first!.now, snapshot: first!.snapshot, changes }
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
