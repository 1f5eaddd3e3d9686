/** What there is to distribute, or is distributed: rows and bytes by table, and whether each server answers. It changes nothing. */
import { withClient, type Place } from '../connections.ts'
import { sqlState } from '../failures.ts'
import { surveyCitus } from './citus-survey.ts'
import type { Asking } from './definition.ts'
import { engineOn } from './engine.ts'
import { schemaOf, shardsOf } from './foreign.ts'
import { askShard, describeShard, remoteName, type Shard } from './shards.ts'
import { PREPARED, type Prepared, type Survey, type SurveyedServer, type SurveyedTable } from './surveyed.ts'
import { distributedTables } from './tables.ts'

/** What the server in front knows of the others. */
export interface Layout extends Prepared {
  readonly schema: string
  readonly shards: readonly Shard[]
}

/** Milliseconds in which each server answers, for who can wait. */
const LIMIT = 3000

const sizesOf = (names: readonly string[]): string =>
  `select relname as "table", nullif(reltuples, -1)::float8 as "rows",
      pg_total_relation_size(pg_class.oid)::float8 as "bytes"
    from (values ${names.map((name, at) => `(${at}, to_regclass('${name.replaceAll("'", "''")}'))`).join(', ')}) as one (at, id)
      join pg_class on pg_class.oid = id order by at`

export async function survey(place: Place): Promise<Survey> {
  return withClient(place, async (client) => {
    const engine = await engineOn(client, place.schema)
    if (engine === 'citus') return surveyCitus(client, LIMIT)
    const layout = await layoutOf(client, place.schema)
    if (engine === 'fdw') return surveyForeign(layout, LIMIT)
    const { prepared, oldest } = layout
    const names = distributedTables(place.schema).map(({ name }) => name)
    const { rows: tables } = await client.query<SurveyedTable>(sizesOf(names))
    return {
      engine,
      here: { prepared, oldest },
      servers: [{ server: 'this server', tables, problem: null, prepared, oldest }],
    }
  })
}

export async function layoutOf(client: Asking, schema: string | undefined): Promise<Layout> {
  const { rows } = await client.query<Prepared>(PREPARED)
  return { ...rows[0]!, schema: await schemaOf(client, schema), shards: await shardsOf(client) }
}

/** All at once, so that it takes `limit` milliseconds at most whatever becomes of them. */
export async function surveyForeign(
  { schema, shards, prepared, oldest }: Layout,
  limit: number,
): Promise<Survey> {
  const servers = await Promise.all(shards.map(async (shard) => surveyShard(shard, schema, limit)))
  return { engine: 'fdw', here: { prepared, oldest }, servers }
}

async function surveyShard(shard: Shard, schema: string, limit: number): Promise<SurveyedServer> {
  const server = describeShard(shard)
  try {
    return await askShard(shard, limit, async (client) => {
      const names = distributedTables().map((table) => remoteName(schema, table))
      const { rows: tables } = await client.query<SurveyedTable>(sizesOf(names))
      const { rows } = await client.query<Prepared>(PREPARED)
      return { server, tables, problem: null, ...rows[0]! }
    })
  } catch (error) {
    return {
      server,
      tables: [],
      problem: sqlState(error) ?? (error as Error).message,
      prepared: 0,
      oldest: 0,
    }
  }
}
