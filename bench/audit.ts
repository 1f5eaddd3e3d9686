// Owns the question what it costs that the audit log names the Authorization of each token: the events of busy seconds, observed
// and stored as the server does it, beside those of seconds in which tokens are merged beyond 200. Nothing else is
// measured with it, so that a busy machine hides nothing.

import { randomUUID } from 'node:crypto'
import fastify, { type FastifyRequest } from 'fastify'
import { Client } from 'pg'
import { createAudit } from '../src/services/audit/audit.ts'
import type { TokensTold } from '../src/services/audit/audit-batches.ts'
import { runAs } from '../src/services/audit/origin.ts'
import { openDatabase } from '../src/store/database.ts'
import { startLatchkey } from './contestants/latchkey-server.ts'
import { cpuOf, cpuOfCluster } from './cpu.ts'
import type { Stage } from './lane.ts'
import { provenance } from './machine.ts'
import { grouped, table } from './markdown.ts'
import type { Part } from './parts.ts'
import { pause } from './pinning.ts'

/** Tokens of a second, each of an Authorization of its own: what a core issues at full load. */
const BURST = 6000

const settings: Record<TokensTold, string> = {
  each: '`each`, the default',
  merged: '`merged`',
}

interface Price {
  /** Microseconds of CPU for each token. */
  server: number
  postgres: number
  /** Bytes for each token. */
  wal: number
  stored: number
  /** Share of the tokens. */
  named: number
}

export async function measureAudit(stage: Stage): Promise<Part[]> {
  const requests = await makeRequests()
  const rows: string[][] = []
  for (const tokens of Object.keys(settings) as TokensTold[]) {
    console.log(`${stage.options.rounds} rounds of ${BURST} tokens, ${tokens}`)
    const { server, postgres, wal, stored, named } = await measure(tokens, requests, stage)
    rows.push([
      settings[tokens],
      server.toFixed(1),
      postgres.toFixed(1),
      grouped(wal),
      grouped(stored),
      `${(100 * named).toFixed(0)} %`,
    ])
  }
  const columns = [
    'OIDC_AUDIT_TOKENS',
    'CPU µs a token: server',
    'PostgreSQL',
    'WAL bytes',
    'bytes of the audit log',
    'tokens that it names',
  ]
  const how = `${stage.options.rounds} seconds of ${grouped(BURST)} tokens`
  return [
    { page: 'capacity.md', name: 'audit', text: `${provenance(stage, how)}\n\n${table(columns, rows)}` },
  ]
}

async function measure(
  tokens: TokensTold,
  requests: readonly FastifyRequest[],
  { cluster, options }: Stage,
): Promise<Price> {
  const ground = { nodeArgs: [], createDatabase: cluster.createDatabase }
  const { databaseUrl, pid } = await startLatchkey(ground, `audit_${tokens}`, {})
  // It has made the tables; nothing else is wanted of it.
  pause([pid])
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  const database = await openDatabase({ url: databaseUrl })
  const spent = (): number[] => [
    cpuOf(process.pid),
    cluster.postmasterPid === undefined ? Number.NaN : cpuOfCluster(cluster.postmasterPid),
  ]
  const second = async (): Promise<void> => {
    const audit = createAudit(database, fastify().log, tokens)
    for (const request of requests) runAs(request, () => audit.observe(issued(request)))
    await audit.stop()
  }
  await second()

  const [before, from] = [spent(), await counted(client)]
  for (let round = 0; round < options.rounds; round++) await second()
  const [after, to] = [spent(), await counted(client)]
  await database.close()
  await client.end()
  const [server = 0, postgres = 0] = after.map((cpu, index) => (cpu - before[index]!) / count(options.rounds))
  const each = (what: keyof typeof to): number => (to[what] - from[what]) / count(options.rounds)
  return { server, postgres, wal: each('wal'), stored: each('stored'), named: each('named') }
}

function count(rounds: number): number {
  return BURST * rounds
}

function issued({ id }: FastifyRequest) {
  const details = { grant_type: 'refresh_token', authorization: randomUUID() }
  return { type: 'token.issued', client: 'a web app', user: id, details } as const
}

/** As the events of a server have them: with an address, and an id of their own. */
async function makeRequests(): Promise<FastifyRequest[]> {
  const made: FastifyRequest[] = []
  const server = fastify({ genReqId: () => randomUUID() }).decorateRequest('actor', null)
  server.get('/', async (request) => {
    request.actor = { kind: 'client', id: 'a web app' }
    made.push(request)
    return {}
  })
  for (let number = 0; number < BURST; number++) await server.inject('/')
  await server.close()
  return made
}

async function counted(client: Client): Promise<{ wal: number; stored: number; named: number }> {
  const { rows } = await client.query<Record<'wal' | 'stored' | 'named', string>>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as wal,
       pg_total_relation_size('audit_events') as stored,
       (select count(distinct details ->> 'authorization') from audit_events) as named`,
  )
  const { wal, stored, named } = rows[0]!
  return { wal: Number(wal), stored: Number(stored), named: Number(named) }
}
