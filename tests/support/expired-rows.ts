/** Rows of every kind that can expire, of any age: tests move time by what they write. */
import { randomUUID } from 'node:crypto'
import { createJanitor, type Janitor, type JanitorOptions } from '../../src/services/janitor.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { atEndOfFile } from './cleanup.ts'
import { createDatabase, type TestDatabase } from './database.ts'
import { recordingLog } from './log.ts'

export const HOUR = 3600
export const DAY = 86_400
/** Of access tokens, at most. */
export const LIFETIME = HOUR
/** Of audit events. */
export const AUDIT_EXPIRE = 30 * DAY
/** Whose rows they are. */
const USER = randomUUID()

/** `$1` keys, `$2` when each dies or died in seconds from now, `$3` whether it was spent, revoked or idle. */
const GIVEN = 'from unnest($1::text[], $2::float8[], $3::bool[]) as given (key, at, flag)'
const AT = 'now() + make_interval(secs => at)'
const FLAGGED = `case when flag then now() - interval '1 minute' end`

export interface Row {
  at: number
  flag: boolean
}
export interface Table {
  table: string
  key: string
  /** Inserts what `GIVEN` names. */
  insert: string
  isDead(row: Row): boolean
}

export const TABLES: Table[] = [
  {
    table: 'artifacts',
    key: 'hash',
    insert: `(kind, hash, value, expires_at, spent_at) select 'voucher', key, '{}', ${AT}, ${FLAGGED}`,
    isDead: ({ at }) => at < 0,
  },
  {
    table: 'access_tokens',
    key: 'hash',
    insert: `(hash, claims, expires_at, revoked_at) select key, '{}', ${AT}, ${FLAGGED}`,
    isDead: ({ at }) => at < -HOUR,
  },
  {
    table: 'revoked_tokens',
    key: 'jti',
    insert: `(jti, expires_at) select key, ${AT}`,
    isDead: ({ at }) => at < -HOUR,
  },
  {
    // An idle one is gone on from when its user signs in again.
    table: 'sessions',
    key: 'hash',
    insert: `(hash, sid, user_id, authenticated_at, amr, expires_at, ends_at)
      select key, gen_random_uuid(), '${USER}', now(), '{}', coalesce(${FLAGGED}, ${AT}), ${AT}`,
    isDead: ({ at }) => at < 0,
  },
  {
    table: 'authorization_codes',
    key: 'hash',
    insert: `(authorization_id, hash, client_id, subject, redirect_uri, granted, expires_at, spent_at)
      select gen_random_uuid(), key, 'client', '${USER}', 'https://rp.example/cb', '{}', ${AT}, ${FLAGGED}`,
    isDead: ({ at, flag }) => at < 0 && !flag,
  },
  {
    table: 'changes',
    key: 'key',
    insert: `(id, kind, key, changed_at) select gen_random_uuid(), 'client', key, ${AT}`,
    isDead: ({ at }) => at < -HOUR,
  },
  {
    table: 'outbox',
    key: 'kind',
    insert: `(id, kind, payload, tries_until, given_up_at)
      select gen_random_uuid(), key, 'sealed', ${AT}, ${FLAGGED}`,
    isDead: ({ at }) => at < -30 * DAY,
  },
  {
    table: 'outbox_recipients',
    key: 'recipient',
    insert: `(kind, recipient, seen_at) select 'webhook', key, ${AT}`,
    isDead: ({ at }) => at < -30 * DAY,
  },
  {
    table: 'security_events',
    key: 'stream',
    insert: `(stream, jti, claims, expires_at) select key, 'jti', '{}', ${AT}`,
    isDead: ({ at }) => at < 0,
  },
  {
    table: 'spent_handles',
    key: 'hash',
    insert: `(hash, expires_at) select key, ${AT}`,
    isDead: ({ at }) => at < -HOUR,
  },
  {
    table: 'pending_sessions',
    key: 'hash',
    insert: `(hash, sid, user_id, user_updated_at, authenticated_at, amr, expires_at)
      select key, gen_random_uuid(), '${USER}', now(), now(), '{}', ${AT}`,
    isDead: ({ at }) => at < 0,
  },
  {
    table: 'initial_tokens',
    key: 'name',
    insert: `(name, hash, uses_left, expires_at, allowance) select key, key, 1, ${AT}, '{}'`,
    isDead: ({ at }) => at < -30 * DAY,
  },
  {
    table: 'client_documents',
    key: 'client_id',
    insert: `(client_id, document, read_at, fresh_until, stale_until, kept_until) select key, '{}', now(), now(), now(), ${AT}`,
    isDead: ({ at }) => at < 0,
  },
  {
    table: 'consents',
    key: 'client_id',
    insert: `(user_id, client_id, scopes, resources, expires_at) select '${USER}', key, '{}', '{}', ${AT}`,
    isDead: ({ at }) => at < 0,
  },
  {
    table: 'throttles',
    key: 'source',
    insert: `(source, account, free_at) select key, '*', ${AT}`,
    isDead: ({ at }) => at < -DAY,
  },
  {
    // Its id is its time.
    table: 'audit_events',
    key: 'type',
    insert: `(id, at, type, actor_kind, details) select (lpad(to_hex((extract(epoch from ${AT}) * 1000)::bigint), 12, '0')
      || '7' || left(md5(key), 3) || '8' || right(md5(key), 15))::uuid, ${AT}, key, 'server', '{}'`,
    isDead: ({ at }) => at < -AUDIT_EXPIRE,
  },
  {
    table: 'activity',
    key: 'type',
    insert: `(hour, type, writer, count) select ${AT}, key, gen_random_uuid(), 1`,
    isDead: ({ at }) => at < -35 * DAY,
  },
]

/** Their keys are `row 0`, `row 1` … */
export async function fill(
  { query }: TestDatabase,
  { table, insert }: Table,
  rows: readonly Row[],
): Promise<void> {
  const keys = rows.map((_, index) => `row ${index}`)
  await query(`insert into ${table} ${insert} ${GIVEN}`, [
    keys,
    rows.map(({ at }) => at),
    rows.map(({ flag }) => flag),
  ])
}

export const repeat = (count: number, row: Row): Row[] => Array.from({ length: count }, () => row)
export const DEAD: Row = { at: -40 * DAY, flag: false }
export const ALIVE: Row = { at: 40 * DAY, flag: false }

/** An Authorization with what goes with it; times in seconds from now. */
export interface Family {
  id: string
  created: number
  revoked: number | null
  /** When its refresh token expires; null for none. */
  refresh: number | null
  /** Whether it began with a code. */
  code: boolean
  /** When it is to be looked at. */
  until: number
}

export const deadFamily = (): Family => ({
  id: randomUUID(), created: -50 * DAY, revoked: null, code: true, until: -1, refresh: -40 * DAY,
}) // prettier-ignore

export async function fillFamilies({ query }: TestDatabase, families: readonly Family[]): Promise<void> {
  const given = JSON.stringify(families)
  const from = `from jsonb_to_recordset($1) as given (id uuid, created float8, revoked float8, refresh float8, code bool, until float8)`
  const at = (seconds: string): string => `now() + make_interval(secs => ${seconds})`
  await query(
    `insert into authorizations (id, client_id, subject, scopes, resources, parameters, created_at, revoked_at, kept_until)
     select id, 'client', '${USER}', '{}', '{}', '{}', ${at('created')}, ${at('revoked')}, ${at('until')} ${from}`,
    [given],
  )
  await query(
    `insert into refresh_tokens (authorization_id, hash, expires_at)
     select id, 'token', ${at('refresh')} ${from} where refresh is not null`,
    [given],
  )
  await query(
    `insert into authorization_codes (authorization_id, hash, client_id, subject, redirect_uri, granted, expires_at, spent_at)
     select id, 'code', 'client', '${USER}', 'https://rp.example/cb', '{}', ${at('created')}, ${at('created')} ${from} where code`,
    [given],
  )
}

export async function countOf({ query }: TestDatabase, table: string): Promise<number> {
  const [row] = await query(`select count(*)::int as count from ${table}`)
  return row!['count'] as number
}

/** With the user whose rows they are. */
export async function createDatabaseForRows(): Promise<TestDatabase> {
  const database = await createDatabase()
  await database.query(`insert into users (id, username, username_key) values ($1, 'alice', 'alice')`, [USER])
  return database
}

export async function empty({ query }: TestDatabase): Promise<void> {
  for (const table of [...TABLES.map((one) => one.table), 'refresh_tokens', 'authorizations'])
    await query(`delete from ${table}`)
}

export async function openAs({ url }: TestDatabase): Promise<Database> {
  const opened = await openDatabase({ url })
  atEndOfFile(() => opened.close())
  return opened
}

export function janitorOf(
  database: Database,
  {
    interval = 0,
    log = recordingLog().log,
    budget = 10_000,
    rest = 3,
    endings = {},
  }: Partial<JanitorOptions> = {},
): Janitor {
  const janitor = createJanitor({
    database,
    log,
    interval,
    budget,
    rest,
    endings,
    longestLifetime: LIFETIME,
    auditExpire: AUDIT_EXPIRE,
  })
  atEndOfFile(() => janitor.stop())
  return janitor
}
