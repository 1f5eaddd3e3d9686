/**
 * Distribution by Citus: the same tables, by the same key, on the nodes that the database knows already. What spends a code or an opaque
 * refresh is a function there, which runs where its rows are: as one statement it would be committed by two phases (docs/adr/0055).
 */
import pg from 'pg'
import { EXCHANGING } from '../authorization-codes.ts'
import { ROTATING } from '../refresh-tokens.ts'
import { tableOf } from '../statement.ts'
import type { Asking } from './definition.ts'
import { CannotDistribute, inTransaction, schemaOf } from './foreign.ts'
import { NODES } from './citus-survey.ts'
import { distributedTables } from './tables.ts'

const FUNCTIONS = [EXCHANGING, ROTATING]

/** How many nodes would hold a share. Throws `CannotDistribute` where there is no Citus. */
export async function nodesOf(client: Asking): Promise<string[]> {
  const { rows } = await client.query(`select from pg_extension where extname = 'citus'`)
  if (rows.length === 0)
    throw new CannotDistribute(
      'The database has no Citus: run `create extension citus` on it and on each node, as its superuser.',
    )
  const nodes = await client.query<{ name: string }>(NODES)
  if (nodes.rows.length === 0)
    throw new CannotDistribute('Citus knows no node that holds shares: name each by citus_add_node first.')
  return nodes.rows.map(({ name }) => name)
}

/** Moves the rows to the nodes, all of them or none. */
export async function distributeByCitus(client: Asking, schema?: string): Promise<void> {
  await nodesOf(client)
  const tables = distributedTables(schema)
  await inTransaction(client, async () => {
    // Functions and tables need one connection for each node.
    await client.query(`set local citus.multi_shard_modify_mode to 'sequential'`)
    for (const [at, { name, key }] of tables.entries()) {
      const beside = at === 0 ? `'none'` : pg.escapeLiteral(tables[0]!.name)
      await client.query(
        `select create_distributed_table(${pg.escapeLiteral(name)}, ${pg.escapeLiteral(key.replaceAll('"', ''))},
          colocate_with => ${beside})`,
      )
      // Its rows are on the nodes now, and what is left here is never read.
      await client.query(`select truncate_local_data_after_distributing_table(${pg.escapeLiteral(name)})`)
    }
    await placeFunctions(client, schema)
  })
}

/** Brings all rows back to the one server. */
export async function gatherFromCitus(client: Asking, schema?: string): Promise<void> {
  await inTransaction(client, async () => {
    await client.query(`set local citus.multi_shard_modify_mode to 'sequential'`)
    await dropFunctions(client, schema)
    for (const { name } of distributedTables(schema).toReversed())
      await client.query(`select undistribute_table(${pg.escapeLiteral(name)})`)
  })
}

/** The functions as this version has them, where the tables are distributed; after a migration, too. */
export async function placeFunctions(client: Asking, schema?: string): Promise<void> {
  const table = tableOf(await schemaOf(client, schema))
  await dropFunctions(client, schema)
  for (const one of FUNCTIONS) {
    await client.query(one.create(table))
    await client.query(
      `select create_distributed_function(${pg.escapeLiteral(one.signature(table))}, ${pg.escapeLiteral(one.placedBy)},
        colocate_with := ${pg.escapeLiteral(distributedTables(schema)[0]!.name)})`,
    )
  }
}

async function dropFunctions(client: Asking, schema?: string): Promise<void> {
  const here = pg.escapeLiteral(await schemaOf(client, schema))
  const names = FUNCTIONS.map(({ name }) => pg.escapeLiteral(name)).join(', ')
  const { rows } = await client.query<{ one: string }>(
    `select pg_proc.oid::regprocedure::text as "one" from pg_proc
      where proname in (${names}) and pronamespace = ${here}::regnamespace`,
  )
  for (const { one } of rows) await client.query(`drop function ${one}`)
}
