/** What is to be done outside: taken by one process at a time, put off when it fails, given up after a day. */
import { OutboxEntry } from '../entities/outbox-entry.ts'
import { Recipient } from '../entities/recipient.ts'
import { NIL } from '../protocol/uuid.ts'
import { counting, type Removed } from './expired.ts'
import { statement, type Table, type TableOf } from './statement.ts'

/** One that this process has taken; `failing` where its recipient failed last. */
export type ClaimedRow = Pick<OutboxEntry, (typeof CLAIMED)[number]> & { failing: boolean } & Looked

/** Where a look ended, since there may be more recipients behind it: the next one begins there. Null at the end of all. */
export interface Looked {
  reached: string | null
}

/** One that was given up, or that nobody has tried for a day. */
export type GivenUpRow = Pick<OutboxEntry, (typeof LISTED)[number]>

export const ENQUEUED = ['id', 'kind', 'recipient', 'payload'] as const
const CLAIMED = ['id', 'kind', 'recipient', 'payload', 'attempts', 'enqueuedAt'] as const
const LISTED = ['id', 'kind', 'recipient', 'enqueuedAt', 'triesUntil', 'attempts', 'lastError'] as const

export const statements = {
  /** Ids $1, kinds $2, recipients $3, payloads $4; due in $5 seconds. */
  enqueue: statement('outbox-enqueue', (table) => {
    const entry = table(OutboxEntry)
    const columns = ENQUEUED.map((one) => entry.column(one)).join(', ')
    return `insert into ${entry.name} (${columns}, ${entry.column('dueAt')})
      select *, now() + make_interval(secs => $5) from unnest($1::uuid[], $2::text[], $3::text[], $4::text[])`
  }),
  /** A row where there are $1 or more of the kinds $2, also given up. */
  crowded: statement<{ crowded: true }>('outbox-crowded', (table) => {
    const entry = table(OutboxEntry)
    return `select true as "crowded" from ${entry.name} where ${entry.column('kind')} = any($2) offset $1::int - 1 limit 1`
  }),
  /**
   * At most $3 of the kind $1, for $2 seconds: who has not finished one by then is taken for dead. Of recipients, at most $4 for each and one for
   * who failed last, of whom $5 in all; less those $7 that this process is at, for $6. Who rests is left alone. All take turns. No more is locked
   * than is taken: what is locked, other processes pass over. It looks at a few hundred recipients, from $8 on.
   */
  claim: statement<ClaimedRow>('outbox-claim', (table) => {
    const entry = table(OutboxEntry)
    const [id, dueAt, attempts] = [entry.column('id'), entry.column('dueAt'), entry.column('attempts')]
    const waiting = `${isWaiting(entry)} and ${entry.column('kind')} = $1`
    return `with recursive ${recipientsOf(table, waiting, '$8')},
      places as (select ways.*, coalesce(busy.held, 0) as held,
          case when name = '' then $3 * ${SPARE} when failing then 1 else $4::int end - coalesce(busy.held, 0) as room
        from ways left join unnest($6::text[], $7::int[]) as busy (name, held) using (name)
        where due_at <= now() and (rests_until is null or rests_until <= now())),
      nearest as (select * from (select places.*, row_number() over (partition by failing order by held, due_at) as place from places where room > 0) placed
        where place <= $3 * ${SPARE}),
      due as (select found.*, failing, row_number() over (partition by name order by found.due_at) + held as turn
        from nearest cross join lateral (select ${id} as id, ${dueAt} as due_at from ${entry.name}
          where ${waiting} and ${entry.column('recipient')} = name and ${dueAt} <= now() order by ${dueAt} limit room) found),
      turns as (select id, row_number() over (order by turn, due_at) as place
        from (select due.*, row_number() over (partition by failing order by turn, due_at) as place from due) placed
        where not failing or place <= $5::int),
      first as (select array_agg(id order by place) as ids from turns where place <= $3 * ${SPARE})
      update ${entry.name} set ${dueAt} = now() + make_interval(secs => $2), ${attempts} = ${attempts} + 1
      where ${id} = any(array(select ${id} from ${entry.name}
        where ${id} = any((select ids from first)::uuid[]) and ${waiting} and ${dueAt} <= now()
        order by array_position((select ids from first), ${id}) limit $3 for update skip locked))
      returning ${entry.columns(...CLAIMED)},
        coalesce((select failing from ways where name = ${entry.column('recipient')}), false) as "failing", ${REACHED} as "reached"`
  }),
  /**
   * Milliseconds until one of the kind $1 is due, or its process taken for dead: but for the recipients $2, and those who failed last unless $3. Of as
   * many recipients as `claim` looks at, from $4 on; null where only others may have something.
   */
  next: statement<{ wait: number | null } & Looked>('outbox-next', (table) => {
    const entry = table(OutboxEntry)
    return `with recursive ${recipientsOf(table, `${isWaiting(entry)} and ${entry.column('kind')} = $1`, '$4')}
      select (extract(epoch from min(greatest(due_at, rests_until)) - now()) * 1000)::float8 as "wait", ${REACHED} as "reached"
      from ways where name <> all($2::text[]) and ($3 or not failing) having count(*) > 0 or ${REACHED} is not null`
  }),
  done: statement('outbox-done', (table) => {
    const entry = table(OutboxEntry)
    return `delete from ${entry.name} where ${entry.column('id')} = $1`
  }),
  /**
   * The attempt $2 at $1 failed because of $4: again in $3 seconds, unless its time is over or $5 says that there is no use.
   * Nothing where another process has taken it since, or it was given up.
   */
  failed: statement<{ givenUp: boolean }>('outbox-failed', (table) => {
    const entry = table(OutboxEntry)
    const [givenUpAt, until] = [entry.column('givenUpAt'), entry.column('triesUntil')]
    return `update ${entry.name} set ${entry.column('dueAt')} = now() + make_interval(secs => $3),
        ${entry.column('lastError')} = $4, ${givenUpAt} = case when $5 or ${until} <= now() then now() end,
        ${until} = case when $5 then least(${until}, now()) else ${until} end
      where ${entry.column('id')} = $1 and ${entry.column('attempts')} = $2 and ${isWaiting(entry)}
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
  retryAll: statement<Pick<OutboxEntry, 'kind'>>('outbox-retry-all', (table) => retrying(table, overOf(table))),
  /** The same of the recipient $3 of the kind $2. */
  retryOf: statement<Pick<OutboxEntry, 'kind'>>('outbox-retry-of', (table) => retrying(table, overOf(table, isOf(table(OutboxEntry))))),
  /** Gives up what the recipient $3 of the kind $2 has waited for too long, since $4, at most $1: but for what somebody is at. */
  giveUpOver: statement<Pick<OutboxEntry, 'id'>>('outbox-give-up-over', (table) => {
    const entry = table(OutboxEntry)
    return givingUp(entry, overOf(table, `${isOf(entry)} and ${isLeft(entry)}`))
  }),
  /** The same of all that waits for them and was enqueued before $5; also of the one of the id $6, which this process is at. */
  giveUpGone: statement<Pick<OutboxEntry, 'id'>>('outbox-give-up-gone', (table) => {
    const entry = table(OutboxEntry)
    const id = entry.column('id')
    const left = `(${isLeft(entry)} or ${id} = $6)`
    const which = `${isOf(entry)} and ${isWaiting(entry)} and ${left} and ${entry.column('enqueuedAt')} < $5`
    return givingUp(entry, `any(array(select ${id} from ${entry.name} where ${which} limit $1))`, { left, reason: '$4' })
  }),
  /** The same of what waits for them longer than the last $5. */
  giveUpExcess: statement<Pick<OutboxEntry, 'id'>>('outbox-give-up-excess', (table) => {
    const entry = table(OutboxEntry)
    return givingUp(entry, `any(array(select ${entry.column('id')} from ${entry.name}
      where ${isOf(entry)} and ${isLeft(entry)} order by ${entry.column('dueAt')} desc offset $5::int limit $1))`)
  }),
  /** Removes, at most $1, what was given up of the recipient $3 of the kind $2 before the last $4. */
  removeExcess: statement<Removed>('outbox-remove-excess', (table) => {
    const entry = table(OutboxEntry)
    const [id, until] = [entry.column('id'), entry.column('triesUntil')]
    return counting(`delete from ${entry.name} where ${id} = any(array(select ${id} from ${entry.name}
      where ${isOver(entry)} and ${isOf(entry)} order by ${until} desc offset $4::int limit $1)) and ${isOver(entry)}`)
  }),
} // prettier-ignore

/** How many times more are looked at than are taken: some may be locked by other processes. */
const SPARE = 4

/** Recipients that one look goes through: a few milliseconds, however many there are. */
export const LOOKED_AT = 500
const REACHED = `(select max(name) from names having count(*) >= ${LOOKED_AT})`

/**
 * Of whom something waits, from the name `from` on, found by steps of an index and not by all that waits: since when something is due, whether they
 * failed last, and rest.
 */
function recipientsOf(table: TableOf, waiting: string, from: string): string {
  const [entry, known] = [table(OutboxEntry), table(Recipient)]
  const [recipient, dueAt] = [entry.column('recipient'), entry.column('dueAt')]
  const first = (behind: string) =>
    `(select ${recipient} as name, ${dueAt} as due_at from ${entry.name} where ${waiting} and ${recipient} ${behind} order by ${recipient}, ${dueAt} limit 1)`
  return `names as (
      select 1 as place, one.* from ${first(`>= ${from}`)} one
      union all select place + 1, following.* from names cross join lateral ${first('> names.name')} following where place < ${LOOKED_AT}),
    ways as (select name, due_at, coalesce(known.${known.column('failures')} > 0, false) as failing, known.${known.column('restsUntil')} as rests_until
      from names left join ${known.name} known on known.${known.column('kind')} = $1 and known.${known.column('recipient')} = name)`
}

const LAST = NIL.replaceAll('0', 'f')

function isWaiting(entry: Table<OutboxEntry>): string {
  return `${entry.column('givenUpAt')} is null`
}

/**
 * Waits, and no process is at it. That is not told from what comes due within a minute, twice as long as a process may take: this is
 * left alone, too, for a little longer.
 */
function isLeft(entry: Table<OutboxEntry>): string {
  const dueAt = entry.column('dueAt')
  return `${isWaiting(entry)} and (${dueAt} <= now() or ${dueAt} > now() + interval '1 minute')`
}

function isOver(entry: Table<OutboxEntry>): string {
  return `${entry.column('triesUntil')} <= now()`
}

function isOf(entry: Table<OutboxEntry>): string {
  const recipient = entry.column('recipient')
  return `${entry.column('kind')} = $2 and ${recipient} = $3 and ${recipient} <> ''`
}

/** Ids of those whose time is over, the longest first, at most $1; which `more` holds of. */
function overOf(table: TableOf, more = 'true'): string {
  const entry = table(OutboxEntry)
  const [id, until] = [entry.column('id'), entry.column('triesUntil')]
  return `any(array(select ${id} from ${entry.name}
    where ${isOver(entry)} and ${more} order by ${until} limit $1))`
}

/** Since $4, unless there was another reason before. */
function givingUp(
  entry: Table<OutboxEntry>,
  which: string,
  { left = isLeft(entry), reason }: { left?: string; reason?: string } = {},
): string {
  const [until, lastError] = [entry.column('triesUntil'), entry.column('lastError')]
  return `update ${entry.name} set ${entry.column('givenUpAt')} = now(), ${until} = least(${until}, now()),
      ${lastError} = ${reason ?? `coalesce(${lastError}, $4)`}
    where ${entry.column('id')} = ${which} and ${isWaiting(entry)} and ${left} returning ${entry.columns('id')}`
}

function retrying(table: TableOf, which: string): string {
  const entry = table(OutboxEntry)
  return `update ${entry.name} set ${entry.column('dueAt')} = now(), ${entry.column('givenUpAt')} = null,
      ${entry.column('triesUntil')} = now() + interval '1 day'
    where ${entry.column('id')} = ${which} and ${isOver(entry)} returning ${entry.columns('kind')}`
}
