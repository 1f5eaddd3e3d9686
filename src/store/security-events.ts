/** Security events that wait for a stream's receiver: taken by one process at a time, or asked for by the receiver. */
import { OutboxEntry } from '../entities/outbox-entry.ts'
import { PluginRecord } from '../entities/plugin-record.ts'
import { RemovedSubject } from '../entities/removed-subject.ts'
import { DAYS_KEPT, SecurityEvent } from '../entities/security-event.ts'
import { counting, type Removed } from './expired.ts'
import { statement, type Table } from './statement.ts'

export type WaitingEventRow = Pick<SecurityEvent, 'jti' | 'claims'>

export type ClaimedEventRow = WaitingEventRow & Pick<SecurityEvent, 'attempts'>

type Busy = Record<keyof ClaimedEventRow, null>

/** Rows that one statement removes at most. */
const TRIMMED = 500
/** Seconds between two tries of what was put off, at most. */
const LONGEST_PAUSE = 3600

/** How the ids begin of what comes before all others, as it is of the stream itself; where those of the others begin, and end. */
export const AHEAD = '00000000.'
export const FIRST = '00000001'
export const LAST = 'z'

/** In each but `add`, `counts`, `oldest` and `stalled`, $1 is the stream. */
export const statements = {
  /** Streams $1, ids $2, claims $3. What is there already stays: who stores it may do so again. */
  add: statement('security-events-add', (table) => {
    const event = table(SecurityEvent)
    const columns = (['stream', 'jti', 'claims'] as const).map((one) => event.column(one)).join(', ')
    return `insert into ${event.name} (${columns})
      select * from unnest($1::text[], $2::text[], $3::jsonb[]) on conflict do nothing`
  }),
  /** Of those from $3 on and before $4, the oldest of what is more than $2. */
  trim: statement<Removed>('security-events-trim', (table) => {
    const event = table(SecurityEvent)
    const [stream, jti] = [event.column('stream'), event.column('jti')]
    return counting(`delete from ${event.name} where ${stream} = $1 and ${jti} = any(array(
      select ${jti} from ${event.name} where ${stream} = $1 and ${jti} >= $3 and ${jti} < $4 order by ${jti} desc offset $2::int limit ${TRIMMED}))`)
  }),
  /**
   * The first behind $2 and before $4 that is not put off, for $3 seconds; while another one of the stream is claimed, since they go in their order, a row without one. No row where
   * none is left.
   */
  claim: statement<ClaimedEventRow | Busy>('security-event-claim', (table) => {
    const event = table(SecurityEvent)
    const [stream, jti, until] = [event.column('stream'), event.column('jti'), event.column('claimedUntil')]
    return `with first as (select ${jti} as one from ${event.name}
        where ${stream} = $1 and ${jti} > $2 and ${jti} < $4 and ${isDue(event)} order by ${jti} limit 1),
      claimed as (update ${event.name} set ${until} = now() + make_interval(secs => $3)
        where ${stream} = $1 and ${jti} = (select one from first) and (${until} is null or ${until} <= now())
          and not exists (select from ${event.name} where ${stream} = $1 and ${until} > now())
        returning ${event.columns('jti', 'claims', 'attempts')})
      select claimed.* from first left join claimed on true`
  }),
  release: statement('security-event-release', (table) => {
    const event = table(SecurityEvent)
    return `update ${event.name} set ${event.column('claimedUntil')} = null
      where ${event.column('stream')} = $1 and ${event.column('jti')} = $2`
  }),
  /** The first $2, before $3. */
  list: statement<WaitingEventRow>('security-events-list', (table) => {
    const event = table(SecurityEvent)
    const jti = event.column('jti')
    return `select ${event.columns('jti', 'claims')} from ${event.name}
      where ${event.column('stream')} = $1 and ${jti} < $3 order by ${jti} limit $2`
  }),
  /** Those of the ids $2. */
  remove: statement('security-events-remove', (table) => {
    const event = table(SecurityEvent)
    return `delete from ${event.name} where ${event.column('stream')} = $1 and ${event.column('jti')} = any($2::text[])`
  }),
  /** Those before the id $2; all without one. */
  clear: statement('security-events-clear', (table) => {
    const event = table(SecurityEvent)
    return `delete from ${event.name} where ${event.column('stream')} = $1 and ($2::text is null or ${event.column('jti')} < $2)`
  }),
  /** How many wait for each of the streams $1, where any do; $2 at most. In the order of the index, so that it is read and not the table. */
  counts: statement<{ stream: string; count: number }>('security-events-count', (table) => {
    const event = table(SecurityEvent)
    const [stream, jti] = [event.column('stream'), event.column('jti')]
    return `select wanted.one as "stream", count(*)::int as "count" from unnest($1::text[]) as wanted (one)
      cross join lateral (select from ${event.name} where ${stream} = wanted.one order by ${jti} limit $2) waiting
      group by wanted.one`
  }),
  /** Since when the first waits for each of the streams $1, where any do: what is said of the stream itself stands before what is older. */
  oldest: statement<{ stream: string; since: Date }>('security-events-oldest', (table) => {
    const event = table(SecurityEvent)
    const [stream, jti, expiresAt] = [event.column('stream'), event.column('jti'), event.column('expiresAt')]
    const first = (which: string) => `(select ${expiresAt} as until from ${event.name}
      where ${stream} = wanted.one and ${jti} ${which} '${FIRST}' order by ${jti} limit 1)`
    return `select wanted.one as "stream", min(until) - interval '${DAYS_KEPT} days' as "since" from unnest($1::text[]) as wanted (one)
      cross join lateral (${first('<')} union all ${first('>=')}) firsts group by wanted.one`
  }),
  /** What was put off is as new. */
  anew: statement('security-events-anew', (table) => {
    const event = table(SecurityEvent)
    const dueAt = event.column('dueAt')
    return `update ${event.name} set ${event.column('attempts')} = 0, ${dueAt} = null
      where ${event.column('stream')} = $1 and ${dueAt} is not null`
  }),
  /** What was put off is due. */
  retry: statement('security-events-retry', (table) => {
    const event = table(SecurityEvent)
    const dueAt = event.column('dueAt')
    return `update ${event.name} set ${dueAt} = null where ${event.column('stream')} = $1 and ${dueAt} is not null`
  }),
  /**
   * Puts off those of the ids $2 that are not yet, twice as long as the least of their last pauses: for so many seconds, by the clock of the transaction. Null
   * where there are none.
   */
  putOff: statement<{ dueIn: number | null }>('security-events-put-off', (table) => {
    const event = table(SecurityEvent)
    const [stream, jti, attempts] = [event.column('stream'), event.column('jti'), event.column('attempts')]
    return `with due as (select ${jti} as one, ${attempts} as tried from ${event.name}
        where ${stream} = $1 and ${jti} = any($2::text[]) and ${isDue(event)}),
      pause as materialized (select least(power(2, least(min(tried), 20)), ${LONGEST_PAUSE}) * (0.5 + random() / 2) as seconds from due),
      put as (update ${event.name} set ${attempts} = ${attempts} + 1,
          ${event.column('dueAt')} = now() + make_interval(secs => (select seconds from pause))
        where ${stream} = $1 and ${jti} = any(array(select one from due)))
      select seconds as "dueIn" from pause`
  }),
  /** Those of the streams $1 for which something waits before $2 that is due, of whose clients $3 no delivery of the kind $4 waits to be tried. */
  stalled: statement<Pick<SecurityEvent, 'stream'>>('security-events-stalled', (table) => {
    const [event, entry] = [table(SecurityEvent), table(OutboxEntry)]
    return `select wanted.one as "stream" from unnest($1::text[], $2::text[], $3::text[]) as wanted (one, before, client)
      where exists (select from ${event.name} where ${event.column('stream')} = one and ${event.column('jti')} < before and ${isDue(event)})
        and not exists (select from ${entry.name}
          where ${entry.column('kind')} = $4 and ${entry.column('recipient')} = client and ${entry.column('givenUpAt')} is null)`
  }),
  /** The subject $2, unless there are $3. No row where no record of the kind $4 has the stream for its key, or it is just being deleted. */
  removeSubject: statement<{ full: boolean }>('removed-subject-add', (table) => {
    const [removed, record] = [table(RemovedSubject), table(PluginRecord)]
    const [stream, subject] = [removed.column('stream'), removed.column('subject')]
    return `with held as (select from ${record.name} where ${record.column('kind')} = $4 and ${record.column('key')} = $1 for key share),
      crowd as (select exists (select from ${removed.name} where ${stream} = $1 order by ${subject} offset $3::int - 1) as "full" from held),
      stored as (insert into ${removed.name} (${stream}, ${subject}) select $1, $2 from crowd where not "full" on conflict do nothing)
      select "full" from crowd`
  }),
  addSubject: statement('removed-subject-delete', (table) => {
    const removed = table(RemovedSubject)
    return `delete from ${removed.name} where ${removed.column('stream')} = $1 and ${removed.column('subject')} = $2`
  }),
  /** Those of the pairs of a stream ($1) and a subject ($2) that were removed. */
  removedOf: statement<Pick<RemovedSubject, 'stream'>>('removed-subjects-of', (table) => {
    const removed = table(RemovedSubject)
    const [stream, subject] = [removed.column('stream'), removed.column('subject')]
    return `select had.${stream} as "stream" from unnest($1::text[], $2::text[]) as wanted (one, who)
      join ${removed.name} had on had.${stream} = wanted.one and had.${subject} = wanted.who`
  }),
  /** Behind the subject $2, at most $3. */
  listSubjects: statement<Pick<RemovedSubject, 'subject'>>('removed-subjects-list', (table) => {
    const removed = table(RemovedSubject)
    const subject = removed.column('subject')
    return `select ${subject} as "subject" from ${removed.name}
      where ${removed.column('stream')} = $1 and ${subject} > $2 order by ${subject} limit $3`
  }),
  /** How many there are, as far as $2. */
  countSubjects: statement<{ count: number }>('removed-subjects-count', (table) => {
    const removed = table(RemovedSubject)
    const [stream, subject] = [removed.column('stream'), removed.column('subject')]
    return `select count(*)::int as "count"
      from (select from ${removed.name} where ${stream} = $1 order by ${subject} limit $2) counted`
  }),
  clearSubjects: statement('removed-subjects-clear', (table) => {
    const removed = table(RemovedSubject)
    return `delete from ${removed.name} where ${removed.column('stream')} = $1`
  }),
}

function isDue(event: Table<SecurityEvent>): string {
  const dueAt = event.column('dueAt')
  return `(${dueAt} is null or ${dueAt} <= now())`
}
