/**
 * One PostgreSQL for a run of the tests, with one migrated template in it. The tests' own databases are
 * clones of that template.
 */
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startEmbeddedPostgres } from '../../src/services/database/embedded-postgres.ts'
import { migrate } from '../../src/store/migrate.ts'
import { bundleServer } from './bundle.ts'
import { startCitusServers } from './citus-run.ts'
import { execute, withDatabase } from './connection.ts'
import { ON_CITUS } from './distributed.ts'
import { SERIALIZABLE } from './serializable.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A connection string of the migrated template; databases of the run are named after it. */
    templateUrl: string
    /** Servers beside that one, on which each database is, too: nodes of Citus. */
    otherServers: readonly string[]
    /** A directory of the run's own, for what several files use and one makes. */
    runDirectory: string
    /** What a process of the server runs in place of `src/main.ts`, and what it imports before it where it has plugins of others. */
    serverProgram: { main: string; sharing: string }
  }
}

export interface RunServers {
  /** A database of the first, from which others are named. */
  url: string
  /** Beside it; a database of the run is on each of them. */
  others: readonly string[]
  /** Makes of an empty database what the run's are clones of. */
  fill(template: string): Promise<void>
  stop(): Promise<void>
}

const ALONE = { others: [], fill: async (template: string) => migrate(template) }

/**
 * Uses the server of TEST_DATABASE_URL (its user may create databases), or an embedded one that forgets on
 * power loss.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const bundling = bundleServer()
  bundling.catch(() => {})
  const given = ON_CITUS ? undefined : process.env.TEST_DATABASE_URL
  const { url, others, fill, stop } = given
    ? { ...ALONE, url: given, stop: async () => {} }
    : await (ON_CITUS ? startCitusServers() : startThrowaway())
  const name = `latchkey_test_${process.pid}_${Date.now().toString(36)}`
  const template = withDatabase(url, name)
  try {
    for (const one of [url, ...others]) await execute(one, `create database ${name}`)
    await fill(template)
  } catch (error) {
    await stop()
    throw error
  }
  const runDirectory = await mkdtemp(join(tmpdir(), 'latchkey-run-'))
  // PostgreSQL of a root run is not root, and copies what is kept there.
  await chmod(runDirectory, 0o755)
  const { main, sharing, directory } = await bundling
  project.provide('templateUrl', template)
  project.provide('otherServers', others)
  project.provide('runDirectory', runDirectory)
  project.provide('serverProgram', { main, sharing })
  return async () => {
    for (const own of [runDirectory, directory]) await rm(own, { recursive: true, force: true })
    if (given) await dropAll(url, name)
    await stop()
  }
}

const THROWAWAY = { fsync: 'off', full_page_writes: 'off', max_connections: '200', shared_buffers: '64MB' }

/** Where Linux lends memory as files. A database is three hundred of them, and a run makes and drops hundreds of databases. */
const MEMORY = '/dev/shm'
/** Bytes: a run has had fewer at any time. */
const ROOM = 3 * 2 ** 30

/**
 * PostgreSQL remembers serializable transactions until none that ran beside them is left, in any database: ten for each
 * of these and of the connections. Past that it forgets who was in conflict with whom, and refuses what reads their rows
 * again and again. Some tests hold a transaction for seconds, and thousands come beside it.
 */
const ROOM_FOR_CONFLICTS = { max_prepared_transactions: '3000' }

async function startThrowaway(): Promise<RunServers> {
  const dataDir = await mkdtemp(join(await roomyDirectory(), 'latchkey-run-'))
  await chmod(dataDir, 0o755)
  const settings = { ...THROWAWAY, ...(SERIALIZABLE && ROOM_FOR_CONFLICTS) }
  const postgres = await startEmbeddedPostgres({ dataDir, database: 'postgres', settings })
  const stop = async () => {
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
  return { ...ALONE, url: postgres.url, stop }
}

/** In memory where there is enough of it: containers often have next to none. */
async function roomyDirectory(): Promise<string> {
  const free = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  return free >= ROOM ? MEMORY : tmpdir()
}

async function dropAll(url: string, prefix: string): Promise<void> {
  const all = `select datname from pg_database where starts_with(datname, '${prefix}')`
  for (const { datname } of await execute<{ datname: string }>(url, all))
    await execute(url, `drop database if exists ${datname} with (force)`)
}
