// Owns the question what it costs that tokens lie on several PostgreSQL servers: CPU of one operation by the server, by the PostgreSQL
// that it is connected to, and by those that hold the shares, beside the same on one PostgreSQL. With --template on copies of a database
// that is filled.

import { setTimeout as sleep } from 'node:timers/promises'
import { startLatchkey } from './contestants/latchkey-server.ts'
import type { ShardCosts } from './figures.ts'
import { byCitus, byForeignTables, onOne, SHARDS, type TokenGround } from './grounds.ts'
import type { Stage } from './lane.ts'
import { provenance } from './machine.ts'
import { table, whole } from './markdown.ts'
import { operationsOf, runAll, type Operation } from './operations.ts'
import type { Part } from './parts.ts'
import { otherCore, pinFamily } from './pinning.ts'

/** What of the operations touches tokens. */
const ASKED = [
  'code, already signed in',
  'code exchange',
  'refresh',
  'userinfo',
  'revocation of a refresh token',
]
const NAMES: Readonly<Record<TokenGround['name'], string>> = {
  one: 'one',
  fdw: `${SHARDS} by postgres_fdw`,
  citus: `${SHARDS} by Citus`,
}
/** Milliseconds until the audit log has what happened. */
const AUDITED = 1500
const ROUNDS = 3

type Found = Record<string, ShardCosts>

export async function measureShards(stage: Stage): Promise<Part[]> {
  const { cluster } = stage
  const { template } = stage.options
  // This process sends the requests: it stays off the server's core.
  pinFamily(process.pid, otherCore)
  const bin = process.env['CITUS_BIN']
  const found: Partial<Record<TokenGround['name'], Found>> = {}
  for (const open of [
    async () => onOne(cluster, template),
    async () => byForeignTables(cluster, template),
    ...(bin === undefined || template !== undefined ? [] : [async () => byCitus(bin)]),
  ]) {
    const ground = await open()
    try {
      found[ground.name] = await measureOn(ground)
    } finally {
      await ground.stop()
    }
  }
  const { one, fdw } = found as Record<'one' | 'fdw', Found>
  const how = `eight at a time, median of ${ROUNDS} rounds, all on one machine`
  const text = `${provenance(stage, how)}\n\n${tableOf(found, one)}`
  return [
    template === undefined
      ? { page: 'capacity.md', name: 'shards', text, figures: { shards: { plain: one, spread: fdw } } }
      : { page: 'capacity.md', name: 'shards-large', text },
  ]
}

function tableOf(found: Partial<Record<string, Found>>, one: Found): string {
  const all = ({ server, postgres, shards }: ShardCosts): number => server + postgres + shards
  const rows = ASKED.flatMap((operation) =>
    Object.entries(found).map(([ground, costs]) => {
      const cost = costs![operation]!
      return [
        ground === 'one' ? operation : '',
        NAMES[ground as TokenGround['name']],
        whole(cost.server),
        whole(cost.postgres),
        ground === 'one' ? '' : whole(cost.shards),
        (all(cost) / all(one[operation]!)).toFixed(1),
      ]
    }),
  )
  const columns = [
    'operation',
    'tokens on',
    'CPU µs: server',
    'PostgreSQL in front',
    'those with shares',
    'in all, times',
  ]
  return table(columns, rows)
}

async function measureOn({ name, createDatabase, spent }: TokenGround): Promise<Found> {
  console.log(`on ${NAMES[name]}`)
  const server = await startLatchkey({ nodeArgs: [], createDatabase }, `shards_${name}`, {
    OIDC_JANITOR_INTERVAL: '0',
  })
  const operations = (await operationsOf(server)).filter(({ name: operation }) => ASKED.includes(operation))
  for (const { prepare } of operations) await runAll(await prepare(200))
  const costs: Found = {}
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
