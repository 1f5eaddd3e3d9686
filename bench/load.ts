// Owns the load generator, a process of its own: it keeps the connections busy, counts and checks responses,
// and reads every process's CPU time at the same two instants between which it counts.

import { setTimeout as sleep } from 'node:timers/promises'
import { openConnection } from './connection.ts'
import { busyOf, cpuOf, cpuOfCluster, residentMemory } from './cpu.ts'
import type { Expectation, Measured, Prepare, Prepared, Run } from './load-protocol.ts'

interface Requests {
  port: number
  expectation: Expectation
  bytes: Buffer[]
  position: number
}

const prepared = new Map<string, Requests>()

process.on('message', (message: Prepare | Run) => {
  if (message.type === 'prepare') prepare(message)
  else void run(message)
})
process.on('disconnect', () => process.exit())

function prepare({ name, port, path, bodies, expectation }: Prepare): void {
  const bytes = bodies.map((body) =>
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
        `Accept: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    ),
  )
  prepared.set(name, { port, expectation, bytes, position: 0 })
  answer({ type: 'prepared' })
}

async function run(job: Run): Promise<void> {
  const requests = prepared.get(job.name)
  if (!requests) throw new Error(`nothing prepared for ${job.name}`)
  const count = { requests: 0, errors: 0, firstError: undefined as string | undefined }

  const connections = Array.from({ length: job.connections }, () =>
    openConnection({
      port: requests.port,
      expectation: requests.expectation,
      next: () => nextOf(requests),
      onResponse: (error) => {
        count.requests++
        if (error === undefined) return
        count.errors++
        count.firstError ??= error
      },
    }),
  )

  await sleep(job.warmUp * 1000)
  const before = sample(job)
  Object.assign(count, { requests: 0, errors: 0, firstError: undefined })
  await sleep(job.seconds * 1000)
  const after = sample(job)
  const result = { ...count }
  await Promise.all(connections.map((connection) => connection.close()))

  answer({ type: 'measured', ...result, ...used(before, after), serverMemory: residentMemory(job.serverPid) })
}

/** Requests are taken round and round, and a window goes on where the last one ended. */
function nextOf(requests: Requests): Buffer {
  const bytes = requests.bytes[requests.position]
  if (!bytes) throw new Error('no requests')
  requests.position = (requests.position + 1) % requests.bytes.length
  return bytes
}

interface Sample {
  at: number
  server: number
  postgres: number | undefined
  load: number
  cores: number | undefined
}

function sample({ serverPid, postmasterPid, cores }: Run): Sample {
  return {
    at: performance.now() * 1000,
    server: cpuOf(serverPid),
    postgres: postmasterPid === undefined ? undefined : cpuOfCluster(postmasterPid),
    load: cpuOf(process.pid),
    cores: cores?.reduce((sum, core) => sum + busyOf(core), 0),
  }
}

function used(before: Sample, after: Sample) {
  const between = (what: 'at' | 'server' | 'load') => after[what] - before[what]
  const difference = (what: 'postgres' | 'cores') =>
    after[what] === undefined || before[what] === undefined ? undefined : after[what] - before[what]
  const [elapsed, serverCpu, loadCpu] = [between('at'), between('server'), between('load')]
  const [postgresCpu, busy] = [difference('postgres'), difference('cores')]
  const ours = serverCpu + loadCpu + (postgresCpu ?? 0)
  const strangersCpu = busy === undefined ? undefined : Math.max(0, busy - ours)
  return { elapsed, serverCpu, loadCpu, postgresCpu, strangersCpu }
}

function answer(message: Prepared | Measured): void {
  process.send?.(message)
}
