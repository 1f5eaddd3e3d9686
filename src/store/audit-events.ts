/** The audit log: events go in by the batch, and are read by the window, so that no filter reads the whole of it. */
import { Activity, AuditEvent } from '../entities/audit-event.ts'
import { BATCH, counting, type Removed } from './expired.ts'
import { shown, statement, type Statement, type Table } from './statement.ts'

export type AuditEventRow = Pick<AuditEvent, (typeof COLUMNS)[number]>

/** Rows of a filter's index that one statement looks at. */
export const WINDOW = 5000

const COLUMNS = [
  'id', 'at', 'type', 'actorKind', 'actorId', 'user', 'client', 'address', 'requestId', 'count', 'details',
] as const // prettier-ignore

/** One row at least: `reached` is the oldest id that was looked at, `looked` how many were; `id` null for no find. */
export type FoundRow = { looked: number; reached: string | null } & (AuditEventRow | { id: null })

/**
 * Events of one `driver`, $1, whose ids lie from $3 to below $2, the newest first: at most $4 that are also of one of the types $5,
 * about user or by actor $6, about client $7, and of request $8, where these are not null.
 */
function listing(name: string, drivers: readonly (keyof AuditEvent & string)[]): Statement<FoundRow> {
  const list = statement<FoundRow>(name, (table) => {
    const event = table(AuditEvent)
    const id = event.column('id')
    const select = `select ${event.columns(...COLUMNS)} from ${event.name}`
    // Pairs, since equality may be taken for a filter on the index of ids, which reads the whole log for what is rare.
    // And a limit that the planner does not know, or it may think that all there is of a driver is less, and sort that.
    const windows = drivers.map((driver) => {
      const pair = `(${event.column(driver)}, ${id})`
      const order = `${event.column(driver)} desc, ${id} desc`
      return `(${select} where ${pair} < ($1, $2::uuid) and ${pair} >= ($1, $3::uuid) order by ${order} limit (select ${WINDOW}))`
    })
    // $1 stands for nothing where the log itself is the window.
    const log = `(${select} where $1::text is null and ${id} < $2::uuid and ${id} >= $3::uuid order by ${id} desc limit ${WINDOW})`
    const all = windows.length > 0 ? windows : [log]
    return `with w as (select * from (${all.join(' union ')}) either order by "id" desc limit ${WINDOW})
      select l."looked", l."reached", f.*
      from (select count(*)::int as "looked", (select "id" from w order by "id" limit 1) as "reached" from w) l
      left join (select * from w where ($5::text[] is null or "type" = any($5))
        and ($6::text is null or "user" = $6 or "actorId" = $6)
        and ($7::text is null or "client" = $7 or "actorId" = $7)
        and ($8::text is null or "requestId" = $8)
        order by "id" desc limit $4) f on true order by f."id" desc`
  })
  return shown(list)
}

export const statements = {
  /** $1: an array of events as JSON, with their properties' names. */
  insert: statement('audit-events-insert', (table) => {
    const event = table(AuditEvent)
    const types: Partial<Record<string, string>> = {
      id: 'uuid',
      at: 'timestamptz',
      count: 'int',
      details: 'jsonb',
    }
    const given = COLUMNS.map((one) => `"${one}" ${types[one] ?? 'text'}`).join(', ')
    return `insert into ${event.name} (${COLUMNS.map((one) => event.column(one)).join(', ')})
      select * from jsonb_to_recordset($1::jsonb) as given (${given})
      on conflict do nothing`
  }),
  listAll: listing('audit-events-list', []),
  listByRequest: listing('audit-events-by-request', ['requestId']),
  listByUser: listing('audit-events-by-user', ['user', 'actorId']),
  listByClient: listing('audit-events-by-client', ['client', 'actorId']),
  listByType: listing('audit-events-by-type', ['type']),
  /** Of the user $1, what they were called, what else was known of them and how they called what is theirs; who did what, and when, stays. */
  forgetUser: statement('audit-events-forget-user', (table) => {
    const event = table(AuditEvent)
    const [details, type] = [event.column('details'), event.column('type')]
    const [profile, passkeys] = [
      "'user.registered', 'user.changed'",
      "'user.passkey_added', 'user.passkey_removed'",
    ]
    return `update ${event.name} set ${details} = case when ${type} in (${profile})
        then jsonb_set(${details}, '{changes}', '{}') else jsonb_set(${details}, '{name}', '""') end
      where ${event.column('user')} = $1 and ${type} = any(array[${profile}, ${passkeys}])`
  }),
  /** Those whose ids are older than $1 seconds, the oldest first. By the database's clock: that of a process may be wrong. */
  remove: statement<Removed>('audit-events-expired', (table) => {
    const event = table(AuditEvent)
    const id = event.column('id')
    const oldest = 'greatest(0, (extract(epoch from now()) - $1::float8) * 1000)::bigint'
    return counting(`delete from ${event.name} where ${id} = any(array(
        select ${id} from ${event.name} where ${id} < rpad(lpad(to_hex(${oldest}), 12, '0'), 32, '0')::uuid order by ${id} limit ${BATCH}))`)
  }),
  /** What the process $1 has counted in the hour $2: types $3 and how often $4, which is never less than before. */
  count: statement('activity-count', (table) => {
    const activity = table(Activity)
    const columns = activityColumns(activity)
    return `insert into ${activity.name} as had (${columns.join(', ')})
      select $2::timestamptz, one.type, $1::uuid, one.count
      from unnest($3::text[], $4::bigint[]) as one (type, count)
      on conflict (${columns.slice(0, 3).join(', ')}) do update
        set ${activity.column('count')} = greatest(had.${activity.column('count')}, excluded.${activity.column('count')})`
  }),
  /** Since $1, by hour and type. */
  activity: shown(
    statement<{ hour: Date; type: string; count: number }>('activity-since', (table) => {
      const activity = table(Activity)
      const [hour, type, , count] = activityColumns(activity)
      // Two ends, since of an hour that is only not too early the planner may think that it is any.
      return `select ${hour} as "hour", ${type} as "type", sum(${count})::float8 as "count" from ${activity.name}
      where ${hour} >= $1 and ${hour} < now() + interval '1 day' group by ${hour}, ${type}`
    }),
  ),
}

function activityColumns(activity: Table<Activity>): [string, string, string, string] {
  return [
    activity.column('hour'),
    activity.column('type'),
    activity.column('writer'),
    activity.column('count'),
  ]
}
