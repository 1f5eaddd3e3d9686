/** A database of a test file's own: a clone of the run's migrated template. With TEST_ISOLATION=serializable, made so. */
import { Pool, type QueryResultRow } from 'pg'
import { inject } from 'vitest'
import { closeToAll } from './citus-nodes.ts'
import { atEndOfFile } from './cleanup.ts'
import { ASIDE, withDatabase } from './connection.ts'
import { DISTRIBUTED, distributeOver, ON_CITUS } from './distributed.ts'
import { makeRefuse, makeSerializable, SERIALIZABLE } from './serializable.ts'

export interface TestDatabase {
  url: string
  /** Rows of a statement, on a connection of the tests' own. */
  query<Row extends QueryResultRow = QueryResultRow>(statement: string, values?: unknown[]): Promise<Row[]>
  /** Cuts every connection and removes it; the end of the file does it too. */
  drop(): Promise<void>
}

let count = 0
/** To each server, that which is connected to first: kept from one database to the next, since a connection costs a third of one. */
let servers: readonly Pool[] | undefined

export interface DatabaseOptions {
  /** By default as the run is. */
  serializable?: boolean
  /** Whether transactions are refused now and then, as a rule where they are serializable; not where a test counts on each. */
  refusing?: boolean
  /** Whether its tokens lie in three others; by default as the run is. */
  distributed?: boolean
  /** The name of what it is a clone of, from `createTemplate`; by default the run's. */
  template?: string
}

/** About 30 ms. */
export async function createDatabase(options: DatabaseOptions = {}): Promise<TestDatabase> {
  const { serializable = SERIALIZABLE, refusing = serializable, distributed = DISTRIBUTED } = options
  const database = await create(cloneOf(options.template))
  if (distributed) {
    const shards = await Promise.all([1, 2, 3].map(async () => create()))
    await distributeOver(
      database.url,
      shards.map(({ url }) => url),
    )
  }
  if (serializable) await makeSerializable(database.url)
  if (refusing) await makeRefuse(database.url)
  return database
}

/** The name of a clone of the run's template that has something of its own, for as long as the run lasts. */
export async function createTemplate(fill: (url: string) => Promise<void>): Promise<string> {
  const { name, url } = await createNamed(cloneOf())
  await fill(url)
  if (ON_CITUS) await closeToAll(serverUrls(), name)
  return name
}

function cloneOf(template = new URL(inject('templateUrl')).pathname.slice(1)): string {
  return `template ${template} strategy file_copy`
}

/** One without anything in it, which nobody has migrated. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return create()
}

const serverUrls = (): string[] =>
  [inject('templateUrl'), ...inject('otherServers')].map((url) => withDatabase(url, 'postgres'))

async function createNamed(how: string): Promise<{ administer: readonly Pool[]; name: string; url: string }> {
  const templateUrl = inject('templateUrl')
  servers ??= serverUrls().map(open)
  const administer = servers
  const name = `${new URL(templateUrl).pathname.slice(1)}_${process.pid}_${++count}`
  for (const one of administer) await one.query(`create database ${name} ${how}`)
  return { administer, name, url: withDatabase(templateUrl, name) }
}

async function create(how = ''): Promise<TestDatabase> {
  const { administer, name, url } = await createNamed(how)
  const pool = open(url)
  return {
    url,
    query: async <Row extends QueryResultRow>(statement: string, values: unknown[] = []) =>
      (await pool.query<Row>(statement, values)).rows,
    drop: atEndOfFile(async () => {
      await pool.end()
      if (ON_CITUS) await closeToAll(serverUrls(), name)
      for (const one of administer) await one.query(`drop database if exists ${name} with (force)`)
    }),
  }
}

function open(url: string): Pool {
  const pool = new Pool({ connectionString: url, max: 2, allowExitOnIdle: true, ...ASIDE })
  pool.on('error', () => {})
  return pool
}
