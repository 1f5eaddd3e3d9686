/** The servers that hold a share of what is distributed by postgres_fdw: how one is named, reached and marked as ours. */
import pg from 'pg'
import { drop } from '../backend.ts'
import { connectionOf } from '../../protocol/connection-url.ts'
import { type Asking, columnClause, definitionOf, indexOn, type Definition } from './definition.ts'
import type { DistributedTable } from './tables.ts'

/** A shard by its place in the order, from 1 on. */
export interface Shard {
  readonly number: number
  /** Of its database. */
  readonly url: string
}

/** As PostgreSQL calls it, on the server that the processes are connected to. */
export const serverName = ({ number }: Pick<Shard, 'number'>): string => `latchkey_shard_${number}`
export const partitionName = ({ bare }: DistributedTable, { number }: Pick<Shard, 'number'>): string =>
  `${bare}_shard_${number}`

/** Where a table is on a shard: in a schema of the same name. */
export const remoteName = (schema: string, { bare }: DistributedTable): string =>
  `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(bare)}`

/** Seconds until a server that says nothing is taken for away, by whoever connects to it. */
const CONNECT_TIMEOUT = '3'
/** What of a connection string is for `libpq` as it is for us. */
const PASSED = [
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'sslcrl',
  'channel_binding',
  'target_session_attrs',
]

/** Options of the foreign server: where it is, and how it is spoken to. */
export function serverOptions(url: string): Readonly<Record<string, string>> {
  const { hostname, port, pathname, searchParams } = new URL(url)
  const passed = PASSED.flatMap((name) => {
    const value = searchParams.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return {
    host: searchParams.get('host') ?? decodeURIComponent(hostname),
    ...(port === '' ? {} : { port }),
    dbname: decodeURIComponent(pathname.slice(1)),
    ...Object.fromEntries(passed),
    connect_timeout: CONNECT_TIMEOUT,
    keepalives_idle: '5',
    keepalives_interval: '2',
    keepalives_count: '3',
    tcp_user_timeout: '5000',
    application_name: 'latchkey-shard',
    fetch_size: '1000',
    batch_size: '500',
    async_capable: 'true',
    parallel_commit: 'true',
  }
}

/** Options of the mapping: as whom it is spoken to. */
export function userOptions(url: string): Readonly<Record<string, string>> {
  const { username, password } = new URL(url)
  return {
    user: decodeURIComponent(username),
    ...(password === '' ? { password_required: 'false' } : { password: decodeURIComponent(password) }),
  }
}

/** The connection string that such options came from, for who has to speak to the server without the other one. */
export function urlOf(
  server: Readonly<Record<string, string>>,
  mapping: Readonly<Record<string, string>>,
): string {
  const { host = '', port, dbname = '' } = server
  const url = new URL('postgresql://localhost')
  url.pathname = `/${encodeURIComponent(dbname)}`
  url.username = encodeURIComponent(mapping['user'] ?? '')
  url.password = encodeURIComponent(mapping['password'] ?? '')
  if (host.startsWith('/')) url.searchParams.set('host', host)
  else url.hostname = host
  if (port !== undefined) url.port = port
  for (const name of PASSED) if (server[name] !== undefined) url.searchParams.set(name, server[name])
  return url.href
}

/** In words for people, without credentials. */
export function describeShard({ number, url }: Shard): string {
  const { host, dbname } = serverOptions(url)
  return `shard ${number} (${host}/${dbname})`
}

/** On a connection of its own. */
export async function onShard<T>({ url }: Shard, work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionTimeoutMillis: 1000 * Number(CONNECT_TIMEOUT),
    application_name: 'latchkey-distribute',
    ...connectionOf(url),
  })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/**
 * The same for questions: all of `work` in `limit` milliseconds, also where it takes what we send and never answers. Throws what went
 * wrong, or that there was no answer.
 */
export async function askShard<T>(
  { url }: Shard,
  limit: number,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ application_name: 'latchkey-survey', ...connectionOf(url) })
  client.on('error', () => {})
  let late = false
  const timer = setTimeout(() => {
    late = true
    drop(client)
  }, limit)
  try {
    await client.connect()
    const found = await work(client)
    await client.end()
    return found
  } catch (error) {
    throw late ? new Error(`no answer in ${limit / 1000} s`) : error
  } finally {
    clearTimeout(timer)
    drop(client)
  }
}

/** What stands as a comment on each table of a shard: whose rows it holds. */
export const markOf = (owner: string): string => `Latchkey: a share of ${owner}`

/** Null for a table that is not there, `''` for one without a mark. */
export async function markOn(client: Asking, table: string): Promise<string | null> {
  const name = pg.escapeLiteral(table)
  const { rows } = await client.query<{ mark: string | null }>(
    `select coalesce(obj_description(to_regclass(${name}), 'pg_class'), '') as "mark" where to_regclass(${name}) is not null`,
  )
  return rows[0]?.mark ?? null
}

/** Makes the table on a shard like `definition`, and adds what it lacks where it is there. */
export async function bringUp(
  client: Asking,
  table: string,
  { columns, primaryKey, indexes }: Definition,
  owner: string,
): Promise<void> {
  const key = primaryKey.length === 0 ? '' : `, primary key (${primaryKey.join(', ')})`
  await client.query(`create table if not exists ${table} (${columns.map(columnClause).join(', ')}${key})`)
  const had = new Map((await definitionOf(client, table)).columns.map((column) => [column.name, column]))
  for (const column of columns)
    if (!had.has(column.name)) await client.query(`alter table ${table} add column ${columnClause(column)}`)
    else if (had.get(column.name)!.notNull && !column.notNull)
      await client.query(`alter table ${table} alter column ${column.name} drop not null`)
  const kept = new Set(columns.map(({ name }) => name))
  for (const name of had.keys())
    if (!kept.has(name)) await client.query(`alter table ${table} drop column ${name}`)
  for (const index of indexes) await client.query(indexOn(index, table))
  await client.query(`comment on table ${table} is ${pg.escapeLiteral(markOf(owner))}`)
}
