/** What there is to distribute, or is distributed: rows and bytes by table, and whether each server answers. It changes nothing. */
import { withClient, type Place } from '../connections.ts'
import { sqlState } from '../failures.ts'
import { engineOn, type Engine } from './engine.ts'
import { schemaOf, shardsOf } from './foreign.ts'
import { describeShard, onShard, remoteName, type Shard } from './shards.ts'
import { distributedTables } from './tables.ts'

export interface SurveyedTable {
  readonly table: string
  /** As PostgreSQL estimates them. */
  readonly rows: number
  /** With its indexes. */
  readonly bytes: number
}

export interface SurveyedServer {
  /** In words for people, without credentials. */
  readonly server: string
  readonly tables: readonly SurveyedTable[]
  /** Why it cannot be asked; null where it can. */
  readonly problem: string | null
  /** Transactions that were prepared there and wait for their end. */
  readonly prepared: number
}

export interface Survey {
  /** Null where all lies on the one server. */
  readonly engine: Engine | null
  readonly servers: readonly SurveyedServer[]
}

const SIZES = `select relname as "table", greatest(reltuples, 0)::float8 as "rows",
    pg_total_relation_size(pg_class.oid)::float8 as "bytes"
  from pg_class where pg_class.oid = any($1::regclass[]) order by array_position($1::regclass[], pg_class.oid::regclass)`
const PREPARED = `select count(*)::int as "prepared" from pg_prepared_xacts where database = current_database()`

export async function survey(place: Place): Promise<Survey> {
  return withClient(place, async (client) => {
    const engine = await engineOn(client, place.schema)
    const tables = distributedTables(place.schema)
    if (engine === null) {
      const { rows } = await client.query<SurveyedTable>(SIZES, [tables.map(({ name }) => name)])
      return { engine, servers: [{ server: 'this server', tables: rows, problem: null, prepared: 0 }] }
    }
    const schema = await schemaOf(client, place.schema)
    const shards = await shardsOf(client)
    return { engine, servers: await Promise.all(shards.map(async (shard) => surveyShard(shard, schema))) }
  })
}

async function surveyShard(shard: Shard, schema: string): Promise<SurveyedServer> {
  const server = describeShard(shard)
  try {
    return await onShard(shard, async (client) => {
      const names = distributedTables().map((table) => remoteName(schema, table))
      const { rows: tables } = await client.query<SurveyedTable>(SIZES, [names])
      const { rows } = await client.query<{ prepared: number }>(PREPARED)
      return { server, tables, problem: null, prepared: rows[0]!.prepared }
    })
  } catch (error) {
    return { server, tables: [], problem: sqlState(error) ?? (error as Error).message, prepared: 0 }
  }
}
