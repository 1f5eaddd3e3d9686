// Owns the PostgreSQL cluster of a run: where it comes from, one fresh database for each contestant, the
// postmaster's pid for the accounting, and that it is durable: a cluster that loses commits is not measured.

import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { readStat } from './cpu.ts'
import { otherCore, pinFamily } from './pinning.ts'

export interface Cluster {
  version: string
  /** Absent when the cluster's processes cannot be seen, on another machine for one. */
  postmasterPid: number | undefined
  pinned: boolean
  /** Makes a database, empty or a copy of `template`, and returns its connection string. */
  createDatabase: (name: string, template?: string) => Promise<string>
  /** Drops what it created, and stops the cluster if it started it. */
  close: () => Promise<void>
}

/** That at `given`, which somebody else stops; else of the run's own. */
export async function openCluster(given?: string): Promise<Cluster> {
  const { url, stop } = given === undefined ? await findServer() : { url: given, stop: async () => undefined }
  const admin = new Client({ connectionString: url })
  await admin.connect()
  await assertDurable(admin)

  const postmasterPid = await findPostmaster(admin)
  const created: string[] = []
  return {
    version: await show(admin, 'server_version'),
    postmasterPid,
    pinned: postmasterPid !== undefined && pinFamily(postmasterPid, otherCore),
    createDatabase: async (name, template = 'template1') => {
      const database = `bench_${name}_${process.pid}`
      await admin.query(`create database ${database} template "${template}" strategy file_copy`)
      created.push(database)
      return withDatabase(url, database)
    },
    close: async () => {
      for (const database of created) await admin.query(`drop database ${database} with (force)`)
      await admin.end()
      await stop()
    },
  }
}

async function findServer(): Promise<{ url: string; stop: () => Promise<void> }> {
  const url = process.env['BENCH_DATABASE_URL']
  if (url) return { url, stop: async () => undefined }
  const { startEmbeddedPostgres } = await import('../src/services/database/embedded-postgres.ts')
  const dataDir = fileURLToPath(new URL('data', import.meta.url))
  const embedded = await startEmbeddedPostgres({ dataDir })
  return { url: embedded.url, stop: () => embedded.stop() }
}

async function assertDurable(admin: Client): Promise<void> {
  for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    const value = await show(admin, setting)
    if (value !== 'on') throw new Error(`PostgreSQL has ${setting} = ${value}; the benchmark wants it on`)
  }
}

async function show(admin: Client, setting: string): Promise<string> {
  const { rows } = await admin.query<{ value: string }>('select current_setting($1) as value', [setting])
  return rows[0]?.value ?? ''
}

/** Our own backend's parent, if that process is in sight and is PostgreSQL. */
async function findPostmaster(admin: Client): Promise<number | undefined> {
  const { rows } = await admin.query<{ pid: number }>('select pg_backend_pid() as pid')
  try {
    const backend = readStat(rows[0]?.pid ?? 0)
    return backend.name.startsWith('postgres') ? backend.parent : undefined
  } catch {
    return undefined
  }
}

/** Not by URL: `postgresql://user@/name?host=/a/socket/directory` is good for PostgreSQL and none for WHATWG. */
function withDatabase(url: string, database: string): string {
  return url.replace(/^(\w+:\/\/[^/?]*)(\/[^?]*)?/, `$1/${database}`)
}
