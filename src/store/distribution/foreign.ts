/**
 * Distribution by PostgreSQL's own means: each distributed table is one table of hash partitions, and each partition is a table of
 * another server (`postgres_fdw`). Statements stay as they are.
 */
import pg from 'pg'
import { type Asking, definitionOf, indexOn, type Definition } from './definition.ts'
import {
  bringUp,
  describeShard,
  markOf,
  markOn,
  onShard,
  partitionName,
  remoteName,
  serverName,
  serverOptions,
  urlOf,
  userOptions,
  type Shard,
} from './shards.ts'
import { distributedTables, type DistributedTable } from './tables.ts'

export class CannotDistribute extends Error {
  override readonly name = 'ConfigError'
}

/** Milliseconds until it gives up waiting for who uses the tables. */
const LOCK_WAIT = 10_000

/** The servers of a database that is distributed so, in their order; none of any other. */
export async function shardsOf(client: Asking): Promise<Shard[]> {
  const { rows } = await client.query<{ number: number; server: string[]; mapping: string[] | null }>(
    `select substring(srvname from '^latchkey_shard_(\\d+)$')::int as "number", srvoptions as "server",
        umoptions as "mapping"
      from pg_foreign_server left join pg_user_mappings using (srvname)
      where srvname ~ '^latchkey_shard_\\d+$' and (usename is null or usename = current_user)
      order by 1`,
  )
  return rows.map(({ number, server, mapping }) => ({
    number,
    url: urlOf(optionsIn(server), optionsIn(mapping ?? [])),
  }))
}

function optionsIn(options: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    options.map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]),
  )
}

/** What every row of a shard belongs to: this database of this server, and its schema. */
async function ownerOf(client: Asking, schema: string): Promise<string> {
  const { rows } = await client.query<{ owner: string }>(
    `select system_identifier || '/' || current_database() || '/' || ${pg.escapeLiteral(schema)} as "owner"
      from pg_control_system()`,
  )
  return rows[0]!.owner
}

/** The schema that our tables are in. */
export async function schemaOf(client: Asking, schema: string | undefined): Promise<string> {
  if (schema !== undefined) return schema
  const { rows } = await client.query<{ schema: string }>('select current_schema() as "schema"')
  return rows[0]!.schema
}

const written = (options: Readonly<Record<string, string>>): string =>
  Object.entries(options)
    .map(([name, value]) => `${name} ${pg.escapeLiteral(value)}`)
    .join(', ')

/** Moves the rows to `shards`, all of them or none; what is left of a try that failed there is overwritten. */
export async function distribute(client: Asking, shards: readonly Shard[], schema?: string): Promise<void> {
  const here = await schemaOf(client, schema)
  const owner = await ownerOf(client, here)
  const tables = distributedTables(schema)
  const definitions = new Map<DistributedTable, Definition>()
  for (const table of tables) definitions.set(table, await definitionOf(client, table.name))
  for (const shard of shards) await prepareShard(shard, here, owner, definitions)
  await inTransaction(client, async () => {
    await client.query('create extension if not exists postgres_fdw')
    for (const shard of shards) await addServer(client, shard)
    await client.query(`lock table ${tables.map(({ name }) => name).join(', ')} in access exclusive mode`)
    for (const table of tables) await moveOut(client, table, shards, here)
  })
}

/** The tables of a shard, empty. Throws for one that holds somebody else's. */
async function prepareShard(
  shard: Shard,
  schema: string,
  owner: string,
  definitions: ReadonlyMap<DistributedTable, Definition>,
): Promise<void> {
  await onShard(shard, async (client) => {
    await client.query(`create schema if not exists ${pg.escapeIdentifier(schema)}`)
    for (const [table, definition] of definitions) {
      const name = remoteName(schema, table)
      const mark = await markOn(client, name)
      if (mark !== null && mark !== markOf(owner))
        throw new CannotDistribute(
          `${describeShard(shard)} has a table ${table.bare} that is not a share of this database: give it a database of its own.`,
        )
      await bringUp(client, name, definition, owner)
      await client.query(`truncate ${name}`)
    }
  })
}

async function addServer(client: Asking, shard: Shard): Promise<void> {
  const name = serverName(shard)
  await client.query(
    `create server ${name} foreign data wrapper postgres_fdw options (${written(serverOptions(shard.url))})`,
  )
  await client.query(
    `create user mapping for current_user server ${name} options (${written(userOptions(shard.url))})`,
  )
}

async function moveOut(
  client: Asking,
  table: DistributedTable,
  shards: readonly Shard[],
  schema: string,
): Promise<void> {
  const { name, bare, key } = table
  const before = `${bare}_before`
  const { indexes } = await definitionOf(client, name)
  const inSchema = (one: string): string => `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(one)}`
  await client.query(`alter table ${name} rename to ${pg.escapeIdentifier(before)}`)
  await client.query(
    `create table ${inSchema(bare)} (like ${inSchema(before)} including defaults) partition by hash (${key})`,
  )
  for (const [at, shard] of shards.entries())
    await client.query(
      `create foreign table ${inSchema(partitionName(table, shard))} partition of ${inSchema(bare)}
        for values with (modulus ${shards.length}, remainder ${at}) server ${serverName(shard)}
        options (schema_name ${pg.escapeLiteral(schema)}, table_name ${pg.escapeLiteral(bare)})`,
    )
  await client.query(`insert into ${inSchema(bare)} select * from ${inSchema(before)}`)
  await client.query(`drop table ${inSchema(before)}`)
  // Nothing lies under them here: they say what each shard has.
  for (const index of indexes) await client.query(indexOn(index, inSchema(bare)))
}

/** Brings all rows back to the one server; what the shards held is dropped there. */
export async function gather(client: Asking, schema?: string): Promise<void> {
  const here = await schemaOf(client, schema)
  const shards = await shardsOf(client)
  const owner = await ownerOf(client, here)
  const tables = distributedTables(schema)
  const keys = await onShard(shards[0]!, async (first) => {
    const found = new Map<DistributedTable, readonly string[]>()
    for (const table of tables)
      found.set(table, (await definitionOf(first, remoteName(here, table))).primaryKey)
    return found
  })
  await inTransaction(client, async () => {
    await client.query(`lock table ${tables.map(({ name }) => name).join(', ')} in access exclusive mode`)
    for (const table of tables) await moveBack(client, table, keys.get(table)!, here)
    for (const shard of shards) await client.query(`drop server ${serverName(shard)} cascade`)
  })
  for (const shard of shards) await clearShard(shard, here, owner, tables)
}

async function moveBack(
  client: Asking,
  { name, bare }: DistributedTable,
  primaryKey: readonly string[],
  schema: string,
): Promise<void> {
  const inSchema = (one: string): string => `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(one)}`
  const { indexes } = await definitionOf(client, name)
  const gathered = `${bare}_gathered`
  await client.query(`create table ${inSchema(gathered)} (like ${name} including defaults)`)
  await client.query(`insert into ${inSchema(gathered)} select * from ${name}`)
  await client.query(`drop table ${name}`)
  await client.query(`alter table ${inSchema(gathered)} rename to ${pg.escapeIdentifier(bare)}`)
  await client.query(
    `alter table ${name} add constraint ${pg.escapeIdentifier(`${bare}_pkey`)} primary key (${primaryKey.join(', ')})`,
  )
  for (const index of indexes) await client.query(indexOn(index, name))
}

async function clearShard(
  shard: Shard,
  schema: string,
  owner: string,
  tables: readonly DistributedTable[],
): Promise<void> {
  await onShard(shard, async (client) => {
    for (const table of tables) {
      const name = remoteName(schema, table)
      if ((await markOn(client, name)) === markOf(owner)) await client.query(`drop table ${name}`)
    }
  })
}

/** After a migration: what it changed of the distributed tables, on each shard as well. */
export async function mirror(client: Asking, schema?: string): Promise<void> {
  const shards = await shardsOf(client)
  if (shards.length === 0) return
  const here = await schemaOf(client, schema)
  const owner = await ownerOf(client, here)
  const tables = distributedTables(schema)
  const definitions = new Map<DistributedTable, Definition>()
  for (const table of tables) definitions.set(table, await definitionOf(client, table.name))
  for (const shard of shards)
    await onShard(shard, async (remote) => {
      for (const [table, definition] of definitions)
        await bringUp(remote, remoteName(here, table), definition, owner)
    })
}

export async function inTransaction(client: Asking, work: () => Promise<void>): Promise<void> {
  await client.query('begin')
  try {
    await client.query('set local statement_timeout = 0')
    await client.query(`set local lock_timeout = ${LOCK_WAIT}`)
    await work()
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}
