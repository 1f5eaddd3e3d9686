// Owns what clients cost that are known by a document: memory and tables while a hundred thousand of them come in a day, and the CPU of a request
// of one that is in use beside that of a registered one, in turn. `node --expose-gc bench/documents.ts [clients] [--write]`: on a database of its
// own, with the documents at this machine.

import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { kernelOf } from '../src/http/kernel-of.ts'
import { buildServer } from '../src/server.ts'
import { cpuOfCluster, readStat } from './cpu.ts'
import { today } from './machine.ts'
import { factor, grouped, table, whole } from './markdown.ts'
import { writeParts } from './parts.ts'
import { median } from './result.ts'

const { values, positionals } = parseArgs({ options: { write: { type: 'boolean', default: false } }, allowPositionals: true }) // prettier-ignore
const CLIENTS = Number(positionals[0] ?? 100_000)
const STEPS = 5
/** Under way at once: the guard lets ten go to one host. */
const LANES = 8
const ROUNDS = 15
const REQUESTS = 2000
const REDIRECT = 'https://app.example/callback'

const host = createServer(({ url }, response) => {
  const client_id = `${origin}${url}`
  const document = { client_id, client_name: `App ${url}`, redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none', logo_uri: 'https://app.example/logo.png' }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
}).listen(0, '127.0.0.1') // prettier-ignore
await once(host, 'listening')
const origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`

const folder = await mkdtemp(join(tmpdir(), 'documents-'))
const server = await buildServer({ DATA_DIR: join(folder, 'data'), OIDC_PROFILE: 'mcp', UNSAFE_OUTBOUND_ORIGINS: origin, LOG_LEVEL: 'error' }, { demo: false }) // prettier-ignore
await server.ready()
const { database, directory } = kernelOf(server)

const [{ pid }] = await database.reading(async (em) => em.getConnection().execute<[{ pid: number }]>('select pg_backend_pid() as pid')) // prettier-ignore
const postmaster = readStat(pid).parent

interface Size {
  clients: number
  rows: number
  /** Of the table of documents, with its indexes; and of all other tables. */
  bytes: number
  others: number
  heap: number
  resident: number
}

async function sizeAt(clients: number): Promise<Size> {
  const text = `select (select count(*)::int from client_documents) as rows, pg_total_relation_size('client_documents')::int as bytes,
    (select sum(pg_total_relation_size(oid))::int from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace and relname <> 'client_documents') as others`
  const [row] = await database.reading(async (em) =>
    em.getConnection().execute<{ rows: number; bytes: number; others: number }[]>(text),
  )
  globalThis.gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  return { clients, ...row!, heap: heapUsed, resident: rss }
}

/** Each comes once, and its document is read. */
async function come(from: number, to: number): Promise<void> {
  let next = from
  const lane = async (): Promise<void> => {
    while (next < to) await directory.admitClient(`${origin}/${next++}.json`)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

interface Cost {
  server: number
  postgres: number
}

/** CPU in microseconds of one request that begins with the client, up to the sign-in page. */
async function costOf(clientId: string): Promise<Cost> {
  const query = new URLSearchParams({ client_id: clientId, redirect_uri: REDIRECT, response_type: 'code', scope: 'openid', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }) // prettier-ignore
  const before = { cpu: process.cpuUsage(), postgres: cpuOfCluster(postmaster) }
  for (let n = 0; n < REQUESTS; n++) {
    // As the next of a connection: what is asked in one go is taken for a rush.
    await turn()
    const { statusCode, body } = await server.inject(`/authorize?${query.toString()}`)
    if (statusCode >= 400) throw new Error(`${clientId} is answered ${statusCode}: ${body.slice(0, 2000)}`)
  }
  const { user, system } = process.cpuUsage(before.cpu)
  return {
    server: (user + system) / REQUESTS,
    postgres: (cpuOfCluster(postmaster) - before.postgres) / REQUESTS,
  }
}

const sizes = [await sizeAt(0)]
for (let step = 1; step <= STEPS; step++) {
  const to = Math.round((CLIENTS / STEPS) * step)
  await come(sizes.at(-1)!.clients, to)
  sizes.push(await sizeAt(to))
  console.error(`${to} clients have come`)
}
const { client_id: registered } = await server.oauth.clients.create({ client_name: 'Registered', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' }) // prettier-ignore
const hot = `${origin}/hot.json`
const pairs: { registered: Cost; hot: Cost }[] = []
// Each goes first as often, and the first pair warms up.
for (let round = 0; round <= ROUNDS; round++) {
  const turns = round % 2 === 0 ? [registered!, hot] : [hot, registered!]
  const costs = new Map<string, Cost>()
  for (const clientId of turns) costs.set(clientId, await costOf(clientId))
  pairs.push({ registered: costs.get(registered!)!, hot: costs.get(hot)! })
}
const rounds = pairs.slice(1)
const total = ({ server: own, postgres }: Cost): number => own + postgres
const ratios = rounds.map((one) => total(one.hot) / total(one.registered))
const cellsOf = (pick: (one: (typeof rounds)[number]) => Cost): string[] => [
  whole(median(rounds.map((one) => pick(one).server))),
  whole(median(rounds.map((one) => pick(one).postgres))),
]

const mebibytes = (bytes: number): string => (bytes / 1_048_576).toFixed(1)
const [{ version }] = await database.reading(async (em) => em.getConnection().execute<[{ version: string }]>(`select split_part(current_setting('server_version'), ' ', 1) as version`)) // prettier-ignore
const text = [
  `Measured on ${today()}: Node ${process.versions.node}, PostgreSQL ${version}, ${ROUNDS} pairs of rounds of ${REQUESTS} requests.`,
  table(
    ['apps that have come', 'documents kept', 'their table with its indexes, MiB', 'all other tables, MiB', 'heap of the process, MiB', 'resident, MiB'],
    sizes.map(({ clients, rows, bytes, others, heap, resident }) => [grouped(clients), grouped(rows), ...[bytes, others, heap, resident].map(mebibytes)]),
  ),
  table(
    ['a request up to the sign-in page', 'CPU µs: server', 'PostgreSQL'],
    [
      ['of a registered app', ...cellsOf((one) => one.registered)],
      ['of one that is known by a document', ...cellsOf((one) => one.hot)],
    ],
  ),
  `CPU of the second for each of the first, round by round: **${factor(median(ratios))}** (${factor(Math.min(...ratios))}–${factor(Math.max(...ratios))}).`,
].join('\n\n') // prettier-ignore
console.log(text)
if (values.write) writeParts([{ name: 'documents', text }])

await server.close()
host.close()
await rm(folder, { recursive: true, force: true })
