// Owns where tokens lie while a question is asked of a server: on one PostgreSQL, on three others that it reaches by postgres_fdw, or on three
// nodes of Citus; and whose CPU is whose there.

import { Client } from 'pg'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../src/services/database/embedded-postgres.ts'
import { distributeByCitus } from '../src/store/distribution/citus.ts'
import { distribute } from '../src/store/distribution/foreign.ts'
import { migrate } from '../src/store/migrate.ts'
import { startNode } from './citus-node.ts'
import { openCluster, type Cluster } from './cluster.ts'
import { cpuOf, cpuOfCluster } from './cpu.ts'
import type { ShardCosts } from './figures.ts'

/** How many hold shares, on either engine. */
export const SHARDS = 3

export interface TokenGround {
  readonly name: 'one' | 'fdw' | 'citus'
  readonly createDatabase: (name: string) => Promise<string>
  /** Of whoever works: CPU in microseconds so far, with that of the server of this process id. */
  readonly spent: (pid: number) => ShardCosts
  readonly stop: () => Promise<void>
}

const usedBy = ({ postmasterPid }: Pick<Cluster, 'postmasterPid'>): number =>
  postmasterPid === undefined ? Number.NaN : cpuOfCluster(postmasterPid)
const usedByAll = (clusters: readonly Pick<Cluster, 'postmasterPid'>[]): number =>
  clusters.reduce((sum, one) => sum + usedBy(one), 0)

/** Databases are copies of `template`, where there is one. */
export function onOne(cluster: Cluster, template?: string): TokenGround {
  return {
    name: 'one',
    createDatabase: async (name) => cluster.createDatabase(name, template),
    spent: (pid) => ({ server: cpuOf(pid), postgres: usedBy(cluster), shards: 0 }),
    stop: async () => {},
  }
}

/** The rows of `template` are moved, as those of any database that is distributed. */
export async function byForeignTables(cluster: Cluster, template?: string): Promise<TokenGround> {
  const shards = await Promise.all(Array.from({ length: SHARDS }, openShard))
  const clusters = shards.map((shard) => shard.cluster)
  return {
    name: 'fdw',
    async createDatabase(name) {
      const url = await cluster.createDatabase(name, template)
      const urls = await Promise.all(clusters.map(async (one) => one.createDatabase(name)))
      await migrate(url)
      await withClient(url, async (client) => {
        await distribute(
          client,
          urls.map((one, at) => ({ number: at + 1, url: one })),
        )
      })
      // What has come is as that which has been there for long.
      if (template !== undefined)
        for (const one of [url, ...urls])
          await withClient(one, async (client) => client.query('vacuum analyze'))
      return url
    },
    spent: (pid) => ({ server: cpuOf(pid), postgres: usedBy(cluster), shards: usedByAll(clusters) }),
    stop: async () => {
      for (const { stop } of shards) await stop()
    },
  }
}

/** Of the build whose programs are in `bin`: databases of another PostgreSQL than the bench's, which no template fills. */
export async function byCitus(bin: string): Promise<TokenGround> {
  const [front, ...nodes] = await Promise.all(Array.from({ length: 1 + SHARDS }, async () => startNode(bin)))
  const all = [front!, ...nodes]
  return {
    name: 'citus',
    async createDatabase() {
      for (const { url } of all) await withClient(url, async (one) => one.query('create extension citus'))
      await withClient(front!.url, async (client) => {
        await client.query(`select citus_set_coordinator_host('127.0.0.1', $1)`, [front!.port])
        for (const { port } of nodes) await client.query(`select citus_add_node('127.0.0.1', $1)`, [port])
      })
      await migrate(front!.url)
      await withClient(front!.url, async (client) => distributeByCitus(client))
      return front!.url
    },
    spent: (pid) => ({ server: cpuOf(pid), postgres: usedBy(front!), shards: usedByAll(nodes) }),
    stop: async () => {
      for (const { stop } of all) await stop()
    },
  }
}

async function withClient(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

/** A PostgreSQL of its own, on the other core. */
async function openShard(): Promise<{ cluster: Cluster; stop: () => Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'latchkey-shard-'))
  const { url, stop } = await startEmbeddedPostgres({
    dataDir: directory,
    settings: { max_wal_size: '8GB' },
  })
  const cluster = await openCluster(url)
  return {
    cluster,
    async stop() {
      await cluster.close()
      await stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
