/** What is to be done outside: taken by one process at a time, put off when it fails, given up after a day. */
import { OutboxEntry } from '../entities/outbox-entry.ts'
import { NIL } from '../protocol/uuid.ts'
import { statement, type Table, type TableOf } from './statement.ts'

/** One that this process has taken. */
export type ClaimedRow = Pick<OutboxEntry, (typeof CLAIMED)[number]>

/** One that was given up, or that nobody has tried for a day. */
export type GivenUpRow = Pick<OutboxEntry, (typeof LISTED)[number]>

const CLAIMED = ['id', 'kind', 'payload', 'attempts', 'enqueuedAt'] as const
const LISTED = ['id', 'kind', 'enqueuedAt', 'triesUntil', 'attempts', 'lastError'] as const

export const statements = {
  /** Ids $1, kinds $2, payloads $3. */
  enqueue: statement('outbox-enqueue', (table) => {
    const entry = table(OutboxEntry)
    const columns = (['id', 'kind', 'payload'] as const).map((one) => entry.column(one)).join(', ')
    return `insert into ${entry.name} (${columns}) select * from unnest($1::uuid[], $2::text[], $3::text[])`
  }),
  /** A row where there are $1 or more of the kinds $2, also given up. */
  crowded: statement<{ crowded: true }>('outbox-crowded', (table) => {
    const entry = table(OutboxEntry)
    return `select true as "crowded" from ${entry.name} where ${entry.column('kind')} = any($2) offset $1::int - 1 limit 1`
  }),
  /** At most $3 of the kinds $1, for $2 seconds: who has not finished one by then is taken for dead. */
  claim: statement<ClaimedRow>('outbox-claim', (table) => {
    const entry = table(OutboxEntry)
    const [id, dueAt, attempts] = [entry.column('id'), entry.column('dueAt'), entry.column('attempts')]
    return `update ${entry.name} set ${dueAt} = now() + make_interval(secs => $2), ${attempts} = ${attempts} + 1
      where ${id} = any(array(select ${id} from ${entry.name}
        where ${isWaiting(entry)} and ${dueAt} <= now() and ${entry.column('kind')} = any($1)
        order by ${dueAt} limit $3 for update skip locked))
      returning ${entry.columns(...CLAIMED)}`
  }),
  /** Milliseconds until one of the kinds $1 is due, or its process taken for dead. */
  next: statement<{ wait: number }>('outbox-next', (table) => {
    const entry = table(OutboxEntry)
    const dueAt = entry.column('dueAt')
    return `select (extract(epoch from ${dueAt} - now()) * 1000)::float8 as "wait" from ${entry.name}
      where ${isWaiting(entry)} and ${entry.column('kind')} = any($1) order by ${dueAt} limit 1`
  }),
  done: statement('outbox-done', (table) => {
    const entry = table(OutboxEntry)
    return `delete from ${entry.name} where ${entry.column('id')} = $1`
  }),
  /**
   * The attempt $2 at $1 failed because of $4: again in $3 seconds, unless its time is over or $5 says that there is no use.
   * Nothing where another process has taken it since.
   */
  failed: statement<{ givenUp: boolean }>('outbox-failed', (table) => {
    const entry = table(OutboxEntry)
    const [givenUpAt, until] = [entry.column('givenUpAt'), entry.column('triesUntil')]
    return `update ${entry.name} set ${entry.column('dueAt')} = now() + make_interval(secs => $3),
        ${entry.column('lastError')} = $4, ${givenUpAt} = case when $5 or ${until} <= now() then now() end,
        ${until} = case when $5 then least(${until}, now()) else ${until} end
      where ${entry.column('id')} = $1 and ${entry.column('attempts')} = $2
      returning ${givenUpAt} is not null as "givenUp"`
  }),
  /** Gives the attempt $2 at $1 back: it was not made. */
  release: statement('outbox-release', (table) => {
    const entry = table(OutboxEntry)
    const attempts = entry.column('attempts')
    return `update ${entry.name} set ${entry.column('dueAt')} = now(), ${attempts} = ${attempts} - 1
      where ${entry.column('id')} = $1 and ${attempts} = $2`
  }),
  /** The last given up first, at most $2 behind the one of the id $1; from the first where that is gone. */
  givenUp: statement<GivenUpRow>('outbox-given-up', (table) => {
    const entry = table(OutboxEntry)
    const [id, until] = [entry.column('id'), entry.column('triesUntil')]
    return `select ${entry.columns(...LISTED)} from ${entry.name}
      where ${isOver(entry)} and (${until}, ${id}) < (
        select coalesce(p.${until}, 'infinity'), coalesce(p.${id}, '${LAST}')
        from (select $1::uuid as wanted) w left join ${entry.name} p on p.${id} = w.wanted)
      order by ${until} desc, ${id} desc limit $2`
  }),
  /** How many wait, as far as $1. */
  waiting: statement<{ count: number }>('outbox-waiting', (table) => {
    const entry = table(OutboxEntry)
    return `select count(*)::int as "count"
      from (select from ${entry.name} where ${isWaiting(entry)} limit $1) waiting`
  }),
  /** Tries the one of the id $1 for another day, from now on; where that was over. */
  retry: statement<Pick<OutboxEntry, 'kind'>>('outbox-retry', (table) => retrying(table, '$1')),
  /** The same of all, at most $1 at a time. */
  retryAll: statement<Pick<OutboxEntry, 'kind'>>('outbox-retry-all', (table) => {
    const entry = table(OutboxEntry)
    const until = entry.column('triesUntil')
    return retrying(table, `any(array(select ${entry.column('id')} from ${entry.name}
      where ${until} <= now() order by ${until} limit $1))`)
  }),
} // prettier-ignore

const LAST = NIL.replaceAll('0', 'f')

function isWaiting(entry: Table<OutboxEntry>): string {
  return `${entry.column('givenUpAt')} is null`
}

function isOver(entry: Table<OutboxEntry>): string {
  return `${entry.column('triesUntil')} <= now()`
}

function retrying(table: TableOf, which: string): string {
  const entry = table(OutboxEntry)
  return `update ${entry.name} set ${entry.column('dueAt')} = now(), ${entry.column('givenUpAt')} = null,
      ${entry.column('triesUntil')} = now() + interval '1 day'
    where ${entry.column('id')} = ${which} and ${isOver(entry)} returning ${entry.columns('kind')}`
}
