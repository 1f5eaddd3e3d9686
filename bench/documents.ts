// Owns what clients cost that are known by a document: memory and tables while a hundred thousand of them come in a day, and a request of one
// that is in use beside that of a registered one. `node bench/documents.ts [clients]`: on a database of its own, with the documents at this machine.

import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import { join } from 'node:path'
import { kernelOf } from '../src/http/kernel-of.ts'
import { buildServer } from '../src/server.ts'
import { table } from './markdown.ts'
import { median } from './result.ts'

const CLIENTS = Number(process.argv[2] ?? 100_000)
const STEPS = 5
/** Under way at once: the guard lets ten go to one host. */
const LANES = 8
const ROUNDS = 9
const REQUESTS = 1000
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

interface Size {
  clients: number
  rows: number
  bytes: number
  heap: number
}

async function sizeAt(clients: number): Promise<Size> {
  const text = `select count(*)::int as rows, pg_total_relation_size('client_documents')::int as bytes from client_documents`
  const [row] = await database.reading(async (em) =>
    em.getConnection().execute<{ rows: number; bytes: number }[]>(text),
  )
  globalThis.gc?.()
  return { clients, ...row!, heap: process.memoryUsage().heapUsed }
}

/** Each comes once, and its document is read. */
async function come(from: number, to: number): Promise<void> {
  let next = from
  const lane = async (): Promise<void> => {
    while (next < to) await directory.admitClient(`${origin}/${next++}.json`)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

/** Microseconds of one request that begins with the client, up to the sign-in page. */
async function costOf(clientId: string): Promise<number> {
  const query = new URLSearchParams({ client_id: clientId, redirect_uri: REDIRECT, response_type: 'code', scope: 'openid', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }) // prettier-ignore
  const begun = performance.now()
  for (let n = 0; n < REQUESTS; n++) {
    // As the next of a connection: what is asked in one go is taken for a rush.
    await turn()
    const { statusCode, body } = await server.inject(`/authorize?${query.toString()}`)
    if (statusCode >= 400) throw new Error(`${clientId} is answered ${statusCode}: ${body.slice(0, 2000)}`)
  }
  return ((performance.now() - begun) / REQUESTS) * 1000
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
const costs: { registered: number; hot: number }[] = []
for (let round = 0; round <= ROUNDS; round++)
  costs.push({ registered: await costOf(registered!), hot: await costOf(hot) })
// The first warms up.
const of = (pick: (one: (typeof costs)[number]) => number): string =>
  median(costs.slice(1).map(pick)).toFixed(0)

const mebibytes = (bytes: number): string => (bytes / 1_048_576).toFixed(1)
console.log(table(['clients so far', 'rows', 'table with its indexes, MiB', 'heap of the process, MiB'], sizes.map((one) => [String(one.clients), String(one.rows), mebibytes(one.bytes), mebibytes(one.heap)]))) // prettier-ignore
console.log(table(['a request up to the sign-in page', 'µs'], [['of a registered client', of((one) => one.registered)], ['of one that is known by a document', of((one) => one.hot)]])) // prettier-ignore

await server.close()
host.close()
await rm(folder, { recursive: true, force: true })
