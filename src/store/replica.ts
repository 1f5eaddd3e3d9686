/**
 * A streaming replica of the database, for what is only shown to people: it is asked statements that are marked so, and no
 * others. Whether it may be asked is for `src/services/listings.ts` to say.
 */
import pg from 'pg'
import { migrationNames } from '../migrations/names.ts'
import { createPool, endPool, onBorrowed, qualified } from './connections.ts'
import { describePlace } from './database.ts'
import { sqlState } from './failures.ts'
import { statement, tableOf, type Query, type Statement } from './statement.ts'

/** Connections of one process: people read lists one at a time. */
const CONNECTIONS = 4
/** Milliseconds: whoever opens a page waits so long before the primary is asked instead. */
const LIMIT = 2000
const FORBIDDEN = '42501'

export interface Replica {
  /** For people: no credentials. */
  readonly where: string
  /** How it is now. Throws when it does not answer. */
  look(): Promise<ReplicaState>
  /** Rows of a marked statement; throws for any other. Nothing is run again. */
  readonly query: Query
  close(): Promise<void>
}

export interface ReplicaState extends Identity {
  /** Not where it takes writes itself, as a primary does. */
  readonly isStandby: boolean
  /** How far it has replayed the log; null where it is no standby. */
  readonly replayed: string | null
  /** When the last transaction that it has replayed was committed, in milliseconds since the epoch; null before the first. */
  readonly replayedAt: number | null
  /** Migrations that this program knows and it lacks. */
  readonly lacking: number
}

/** Positions in the log of the primary, at one moment. */
export interface PrimaryPosition {
  /** What a replica may have by now. */
  readonly flushed: string
  /** What it has to have to show all that was written until now. */
  readonly written: string
  /** Milliseconds since the epoch, by its clock. */
  readonly at: number
}

/** Of a database and its replicas alone. */
export interface Identity {
  readonly database: string
  /** Null where our role may not ask for it. */
  readonly cluster: string | null
}

export interface ReplicaOptions {
  url: string
  schema?: string | undefined
  /** False where a pooler between us and it breaks prepared statements. */
  prepare?: boolean
}

export const statements = {
  position: statement<PrimaryPosition>(
    'primary-position',
    () => `select pg_current_wal_flush_lsn()::text as "flushed", pg_current_wal_insert_lsn()::text as "written",
      (extract(epoch from clock_timestamp()) * 1000)::float8 as "at"`,
  ),
}

/** What a database is, as a select list; `cluster` is for a role that may ask for it. */
function identity(schema: string | undefined, cluster: boolean): string {
  const began = `(select min(executed_at) from ${qualified({ schema }, 'migrations')})`
  return `(select concat_ws(' ', datname, oid, ${began}) from pg_database where datname = current_database()) as "database",
    ${cluster ? '(select system_identifier::text from pg_control_system())' : 'null'} as "cluster"`
}

/** The same statement without what our role may not ask for, where it may not. */
async function permitted<Row>(ask: (cluster: boolean) => Promise<Row[]>): Promise<Row> {
  const rows = await ask(true).catch(async (error: unknown) => {
    if (sqlState(error) !== FORBIDDEN) throw error
    return ask(false)
  })
  return rows[0]!
}

/** Of the database that `query` asks. */
export async function identityOf(query: Query, schema?: string): Promise<Identity> {
  return permitted(async (cluster) =>
    query<Identity>({
      name: `identity${cluster ? '-of-cluster' : ''}`,
      build: () => `select ${identity(schema, cluster)}`,
    }),
  )
}

/** Opens it; it need not answer yet. */
export function openReplica({ url, schema, prepare = true }: ReplicaOptions): Replica {
  const pool = createPool(url, CONNECTIONS)
  const table = tableOf(schema)
  const migrations = qualified({ schema }, 'migrations')
  const state = (cluster: boolean): Statement<ReplicaState> => ({
    name: `replica-state${cluster ? '-of-cluster' : ''}`,
    build: () => `select pg_is_in_recovery() as "isStandby",
      case when pg_is_in_recovery() then pg_last_wal_replay_lsn()::text end as "replayed",
      (extract(epoch from pg_last_xact_replay_timestamp()) * 1000)::float8 as "replayedAt",
      (select count(*)::int from unnest($1::text[]) known (name)
        where name not in (select name from ${migrations})) as "lacking",
      ${identity(schema, cluster)}`,
  })

  const send = async <Row>(
    { name, build }: Statement<Row>,
    values: readonly unknown[] = [],
  ): Promise<Row[]> =>
    onBorrowed(pool, async (client) => {
      const config = { text: build(table), values: [...values], types: pg.types, query_timeout: LIMIT }
      const { rows } = await client.query(prepare ? { ...config, name } : config)
      return rows as Row[]
    })

  return {
    where: describePlace({ url, schema }),
    look: async () => permitted(async (cluster) => send(state(cluster), [migrationNames])),
    async query(one, values) {
      if (one.isShown !== true) throw new Error(`${one.name} decides: no replica may answer it`)
      return send(one, values)
    },
    close: async () => endPool(pool),
  }
}

/** Whether the two are, as far as both can say. */
export function isSame(one: Identity, other: Identity): boolean {
  const unknown = one.cluster === null || other.cluster === null
  return one.database === other.database && (unknown || one.cluster === other.cluster)
}

/** A position as a number; -1 for what is none. */
export function positionNumber(text: string | null): bigint {
  const [, high, low] = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(text ?? '') ?? []
  return high === undefined || low === undefined ? -1n : (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}
