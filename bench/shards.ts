// Owns the question what it costs that tokens lie on several PostgreSQL servers: CPU of one operation by the server, by the PostgreSQL
// that it is connected to, and by those that hold the shares, beside the same on one PostgreSQL.

import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../src/services/database/embedded-postgres.ts'
import { distribute } from '../src/store/distribution/foreign.ts'
import { migrate } from '../src/store/migrate.ts'
import { openCluster, type Cluster } from './cluster.ts'
import { startLatchkey } from './contestants/latchkey-server.ts'
import { cpuOf, cpuOfCluster } from './cpu.ts'
import type { ShardCosts } from './figures.ts'
import type { Stage } from './lane.ts'
import { provenance } from './machine.ts'
import { table, whole } from './markdown.ts'
import { operationsOf, runAll, type Operation } from './operations.ts'
import type { Part } from './parts.ts'
import { otherCore, pinFamily } from './pinning.ts'

const SHARDS = 2
/** What of the operations touches tokens. */
const ASKED = [
  'code, already signed in',
  'code exchange',
  'refresh',
  'userinfo',
  'revocation of a refresh token',
]
/** Milliseconds until the audit log has what happened. */
const AUDITED = 1500
const ROUNDS = 3

interface Ground {
  readonly name: string
  readonly createDatabase: (name: string) => Promise<string>
  /** Of whoever works: CPU in microseconds so far. */
  readonly spent: (pid: number) => ShardCosts
}

export async function measureShards(stage: Stage): Promise<Part[]> {
  // This process sends the requests: it stays off the server's core.
  pinFamily(process.pid, otherCore)
  const shards = await Promise.all(Array.from({ length: SHARDS }, openShard))
  try {
    const found = []
    for (const ground of [onOne(stage.cluster), onSeveral(stage.cluster, shards)])
      found.push(await measureOn(ground))
    const [plain, spread] = found as [Record<string, ShardCosts>, Record<string, ShardCosts>]
    const rows = ASKED.map((name) => {
      const [one, several] = [plain[name]!, spread[name]!]
      const ratio = (several.server + several.postgres + several.shards) / (one.server + one.postgres)
      return [
        name,
        ...[one.server, one.postgres, several.server, several.postgres, several.shards].map(whole),
        ratio.toFixed(1),
      ]
    })
    const columns = [
      'operation',
      'CPU µs: server',
      'PostgreSQL',
      `over ${SHARDS}: server`,
      'PostgreSQL in front',
      'shards',
      'in all, times',
    ]
    const text = `${provenance(stage, `eight at a time, median of ${ROUNDS} rounds, all on one machine`)}\n\n${table(columns, rows)}`
    return [{ page: 'capacity.md', name: 'shards', text, figures: { shards: { plain, spread } } }]
  } finally {
    for (const { stop } of shards) await stop()
  }
}

interface ShardServer {
  readonly cluster: Cluster
  readonly stop: () => Promise<void>
}

/** A PostgreSQL of its own, on the other core. */
async function openShard(): Promise<ShardServer> {
  const directory = await mkdtemp(join(tmpdir(), 'latchkey-shard-'))
  const { url, stop } = await startEmbeddedPostgres({ dataDir: directory })
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

const usedBy = ({ postmasterPid }: Cluster): number =>
  postmasterPid === undefined ? Number.NaN : cpuOfCluster(postmasterPid)

function onOne(cluster: Cluster): Ground {
  return {
    name: 'one',
    createDatabase: async (name) => cluster.createDatabase(name),
    spent: (pid) => ({ server: cpuOf(pid), postgres: usedBy(cluster), shards: 0 }),
  }
}

function onSeveral(cluster: Cluster, shards: readonly ShardServer[]): Ground {
  return {
    name: 'several',
    async createDatabase(name) {
      const url = await cluster.createDatabase(name)
      const urls = []
      for (const shard of shards) urls.push(await shard.cluster.createDatabase(name))
      await migrate(url)
      const client = new Client({ connectionString: url })
      await client.connect()
      await distribute(
        client,
        urls.map((one, at) => ({ number: at + 1, url: one })),
      )
      await client.end()
      return url
    },
    spent: (pid) => ({
      server: cpuOf(pid),
      postgres: usedBy(cluster),
      shards: shards.reduce((sum, shard) => sum + usedBy(shard.cluster), 0),
    }),
  }
}

async function measureOn({ name, createDatabase, spent }: Ground): Promise<Record<string, ShardCosts>> {
  console.log(`on ${name}`)
  const server = await startLatchkey({ nodeArgs: [], createDatabase }, `shards_${name}`, {
    OIDC_JANITOR_INTERVAL: '0',
  })
  const operations = (await operationsOf(server)).filter(({ name: operation }) => ASKED.includes(operation))
  for (const { prepare } of operations) await runAll(await prepare(200))
  const costs: Record<string, ShardCosts> = {}
  for (const operation of operations) {
    const rounds = []
    for (let round = 0; round < ROUNDS; round++)
      rounds.push(await measure(operation, () => spent(server.pid)))
    costs[operation.name] = medianOf(rounds)
    console.log(`  ${operation.name}`)
  }
  process.kill(server.pid)
  return costs
}

async function measure({ count, prepare }: Operation, spent: () => ShardCosts): Promise<ShardCosts> {
  const work = await prepare(count)
  await sleep(AUDITED)
  const before = spent()
  await runAll(work)
  await sleep(AUDITED)
  const now = spent()
  const each = (what: keyof ShardCosts): number => (now[what] - before[what]) / count
  return { server: each('server'), postgres: each('postgres'), shards: each('shards') }
}

function medianOf(rounds: readonly ShardCosts[]): ShardCosts {
  const of = (what: keyof ShardCosts): number =>
    rounds.map((one) => one[what]).toSorted((a, b) => a - b)[Math.floor(rounds.length / 2)]!
  return { server: of('server'), postgres: of('postgres'), shards: of('shards') }
}
