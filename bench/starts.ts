// Owns the question whether every process is as fast as the next one, however busy the machine was when it started: many
// starts, each beside programs that take all they can get, and then the CPU of a request of all of them at once, so that
// whatever else the machine does is done to each alike.

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { documentRows, type Row } from './contestant.ts'
import { tokenRow } from './contestants/latchkey.ts'
import { startLatchkey, type Started } from './contestants/latchkey-server.ts'
import { cpuOf, cpuOfWorkers } from './cpu.ts'
import { Generator } from './generator.ts'
import type { Stage } from './lane.ts'
import { provenance } from './machine.ts'
import { table, whole } from './markdown.ts'
import type { Part } from './parts.ts'
import { launchNode, pause, resume, serverCore } from './pinning.ts'
import { median } from './result.ts'
import type { Server } from './server-process.ts'

const STARTS = 20
/** Programs on the server's core, while a process starts and answers its first requests. */
const BESIDE = 3
/** Seconds after which such a program ends by itself. */
const AT_MOST = 120
const CONNECTIONS = 8
/** Seconds of a process's first requests, while it is beside the programs. */
const FIRST = 1
/** Seconds of a window of all at once; requests of each until its code is compiled, and then for the figures. */
const WINDOW = 5
const WARM = 3000
const COUNTED = 3000
/** Windows after which it is so far, whatever was answered. */
const WINDOWS = 40

/** A process, with a load generator of its own. */
interface Start {
  server: Server
  generator: Generator
  /** By row. */
  spent: { requests: number; cpu: number }[]
  /** Of all its CPU while it was measured, the share of V8's own threads. */
  workers: number
}

export async function measureStarts(stage: Stage): Promise<Part[]> {
  const { starts, rows } = await startAll(stage)
  resume(starts.map(({ server }) => server.pid))
  for (const index of rows.keys()) await untilAll(starts, rows, index, WARM)
  for (const { spent } of starts) for (const sum of spent) Object.assign(sum, { requests: 0, cpu: 0 })
  const before = starts.map(({ server: { pid } }) => [cpuOf(pid), cpuOfWorkers(pid)] as const)
  for (const index of rows.keys()) await untilAll(starts, rows, index, COUNTED)
  for (const [index, one] of starts.entries()) {
    const [cpu, workers] = before[index]!
    one.workers = (cpuOfWorkers(one.server.pid) - workers) / (cpuOf(one.server.pid) - cpu)
  }
  const how = `${STARTS} processes, ${COUNTED} requests of each at least`
  return [{ name: 'starts', text: `${provenance(stage, how)}\n\n${tableOf(starts, rows)}` }]
}

/** All at once, until each has answered so many. */
async function untilAll(
  starts: readonly Start[],
  rows: readonly Row[],
  index: number,
  most: number,
): Promise<void> {
  const least = (): number => Math.min(...starts.map(({ spent }) => spent[index]!.requests))
  for (let window = 0; window < WINDOWS && least() < most; window++) {
    await Promise.all(starts.map(async (one) => measure(one, rows, index, WINDOW)))
    console.log(`  ${rows[index]!.endpoint}: ${least()} requests of each, at least`)
  }
}

async function startAll(stage: Stage): Promise<{ starts: Start[]; rows: readonly Row[] }> {
  const ground = { nodeArgs: [], createDatabase: stage.cluster.createDatabase }
  const first = await startLatchkey(ground, 'starts', { DATABASE_POOL_SIZE: '2' })
  const rows = [
    documentRows({ label: 'Latchkey' }, `http://127.0.0.1:${first.port}`, {
      discovery: '/.well-known/openid-configuration',
      jwks: '/jwks',
    })[0]!,
    tokenRow('Latchkey, JWT', 'jwt', await first.createClient('jwt')),
  ]
  pause([first.pid])
  const starts: Start[] = []
  for (let number = 1; number <= STARTS; number++) {
    console.log(`start ${number} of ${STARTS}, beside ${BESIDE} programs`)
    const busy = startBusy()
    const server = await startOnce(first)
    const one = { server, generator: new Generator(), spent: [], workers: 0 }
    for (const index of rows.keys()) await measure(one, rows, index, FIRST)
    pause([server.pid])
    await Promise.all(busy.map(end))
    starts.push({ ...one, spent: rows.map(() => ({ requests: 0, cpu: 0 })) })
  }
  return { starts, rows }
}

/** One that the load kept from its database for too long ends, and another one is started. */
async function startOnce(first: Started, tries = 3): Promise<Server> {
  for (let left = tries - 1; left > 0; left--) {
    try {
      return await first.startAnother()
    } catch {
      console.log('it ended before it was ready; another one')
    }
  }
  return first.startAnother()
}

async function measure(
  { server, generator, spent }: Start,
  rows: readonly Row[],
  index: number,
  seconds: number,
): Promise<void> {
  const { endpoint, path, order, expectation, requests } = rows[index]!
  const { port, pid } = server
  await generator.prepare({
    name: endpoint,
    ports: [port],
    path,
    order,
    expectation,
    closing: false,
    requests: await requests(1),
  })
  const measured = await generator.run({
    name: endpoint,
    connections: CONNECTIONS,
    warmUp: 0.2,
    seconds,
    rate: undefined,
    serverPids: [pid],
    postmasterPid: undefined,
    cores: undefined,
  })
  if (measured.errors > 0) throw new Error(`${endpoint}: ${measured.firstError}`)
  const sum = spent[index]
  if (sum === undefined) return
  sum.requests += measured.requests
  sum.cpu += measured.serverCpu
}

function tableOf(starts: readonly Start[], rows: readonly Row[]): string {
  const percent = (share: number): string => `${whole(share * 100)} %`
  const shares = starts.map(({ workers }) => workers)
  return table(
    [
      'request',
      'CPU µs: median',
      'least',
      'most',
      'furthest from the median',
      "V8's threads: median",
      'most',
    ],
    rows.map(({ endpoint }, index) => {
      const each = starts.map(({ spent }) => spent[index]!.cpu / spent[index]!.requests)
      const middle = median(each)
      const furthest = Math.max(...each.map((one) => Math.abs(one / middle - 1)))
      return [
        endpoint,
        ...[middle, Math.min(...each), Math.max(...each)].map((one) => one.toFixed(1)),
        percent(furthest),
        percent(median(shares)),
        percent(Math.max(...shares)),
      ]
    }),
  )
}

function startBusy(): ChildProcess[] {
  const loop = `const end = Date.now() + ${AT_MOST * 1000}; while (Date.now() < end);`
  return Array.from({ length: BESIDE }, () => launchNode({ cores: serverCore, args: ['-e', loop] }))
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
