/** What the nodes of a database of Citus say of themselves: asked by the one in front, which knows how. */
import pg from 'pg'
import type { Asking } from './definition.ts'
import { PREPARED, type Prepared, type Survey, type SurveyedServer, type SurveyedTable } from './surveyed.ts'
import { distributedTables } from './tables.ts'

/** Nodes that hold shares, as Citus names them. */
export const NODES = `select nodeid as "id", nodename || ':' || nodeport as "name" from pg_dist_node
  where isactive and noderole = 'primary' and shouldhaveshards order by nodeid`

/** What one node says of itself, as one value. */
const TOLD = `select json_build_object(
    'prepared', (select count(*) from pg_prepared_xacts where database = current_database()),
    'oldest', (select coalesce(extract(epoch from now() - min(prepared)), 0) from pg_prepared_xacts where database = current_database()),
    'tables', (select json_agg(json_build_object('table', name,
        'rows', (select case when not bool_or(reltuples < 0) then sum(reltuples) end from pg_class where oid = any (shards)),
        'bytes', (select coalesce(sum(pg_total_relation_size(one)), 0) from unnest(shards) one))) from (
      select name, array(select oid from pg_class where relkind = 'r' and relname ~ ('^' || name || '_[0-9]+$')) as shards
      from unnest(array[${distributedTables()
        .map(({ bare }) => `'${bare}'`)
        .join(', ')}]) as name) found where shards <> '{}'))`

/** In `limit` milliseconds at most: a node that hangs keeps none of the others from answering. */
export async function surveyCitus(client: Asking, limit: number): Promise<Survey> {
  await client.query('begin')
  try {
    await client.query(`set local citus.node_connection_timeout = ${Math.floor(limit / 3)}`)
    await client.query(`set local statement_timeout = ${limit}`)
    const here = await client.query<Prepared>(PREPARED)
    const { rows } = await client.query<{ name: string; success: boolean; result: string }>(
      `select name, success, result from (${NODES}) node
        join run_command_on_all_nodes(${pg.escapeLiteral(TOLD)}, give_warning_for_connection_errors := true) on nodeid = id order by id`,
    )
    return { engine: 'citus', here: here.rows[0]!, servers: rows.map(toServer) }
  } finally {
    await client.query('rollback')
  }
}

function toServer(row: { name: string; success: boolean; result: string }): SurveyedServer {
  const server = `node ${row.name}`
  if (!row.success)
    return { server, tables: [], problem: firstLine(row.result), prepared: 0, oldest: 0 }
  const told = JSON.parse(row.result) as {
    prepared: number
    oldest: number
    tables: SurveyedTable[] | null
  }
  return { server, tables: told.tables ?? [], problem: null, prepared: told.prepared, oldest: told.oldest }
} // prettier-ignore

const firstLine = (text: string): string =>
  text
    .split('\n')[0]!
    .replace(/^ERROR:\s*/, '')
    .slice(0, 120)
