/** What PostgreSQL says of itself, of our role and of what is in our schema; it is asked, and nothing is changed. */
import { withClient, type Place } from './connections.ts'

export interface ServerFacts {
  /** As in `server_version_num`: 150004. */
  readonly version: number
  readonly encoding: string
  /** Whether `lower` makes i of I: in Turkish it does not. */
  readonly folds: boolean
  readonly isolation: string
  readonly synchronousCommit: string
  readonly fsync: boolean
  readonly fullPageWrites: boolean
  /** A standby, or a session that may not write. */
  readonly readOnly: boolean
  /** Connections that our role may have at most, here. */
  readonly connections: number
  readonly superuser: boolean
  /** Where our tables are or would be; null where the connection has no schema to look in. */
  readonly schema: string | null
  readonly mayCreate: boolean
  /** Milliseconds since the epoch. */
  readonly time: number
  /** The same by our own clock, when the answer had come. */
  readonly answered: number
}

const FACTS = `select current_setting('server_version_num')::int as "version",
  current_setting('server_encoding') as "encoding",
  lower('I') = 'i' as "folds",
  current_setting('default_transaction_isolation') as "isolation",
  current_setting('synchronous_commit') as "synchronousCommit",
  current_setting('fsync')::bool as "fsync",
  current_setting('full_page_writes')::bool as "fullPageWrites",
  pg_is_in_recovery() or current_setting('default_transaction_read_only')::bool as "readOnly",
  least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
    case when r.rolconnlimit < 0 then null else r.rolconnlimit end,
    case when d.datconnlimit < 0 then null else d.datconnlimit end) as "connections",
  r.rolsuper as "superuser",
  coalesce($1, current_schema()) as "schema",
  case when coalesce($1, current_schema()) in (select nspname from pg_namespace)
    then has_schema_privilege(coalesce($1, current_schema()), 'create')
    else has_database_privilege(current_database(), 'create') end as "mayCreate",
  (extract(epoch from clock_timestamp()) * 1000)::float8 as "time"
  from pg_roles r, pg_database d where r.rolname = current_user and d.datname = current_database()`

/** Throws what keeps us from asking. */
export async function readServerFacts(place: Place): Promise<ServerFacts> {
  return withClient(place, async (client) => {
    const { rows } = await client.query<Omit<ServerFacts, 'answered'>>(FACTS, [place.schema ?? null])
    return { ...rows[0]!, answered: Date.now() }
  })
}
