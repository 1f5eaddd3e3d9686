// Owns the load generator, a process of its own: it keeps the connections busy, counts and checks responses,
// and reads every process's CPU time at the same two instants between which it counts.

import { setTimeout as sleep } from 'node:timers/promises'
import { openConnection } from './connection.ts'
import { cpuOf, cpuOfCluster, residentMemory } from './cpu.ts'
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

  answer({
    type: 'measured',
    ...result,
    elapsed: after.at - before.at,
    serverCpu: after.server - before.server,
    postgresCpu: after.postgres === undefined ? undefined : after.postgres - (before.postgres ?? 0),
    loadCpu: after.load - before.load,
    serverMemory: residentMemory(job.serverPid),
  })
}

/** Requests are taken round and round, and a window goes on where the last one ended. */
function nextOf(requests: Requests): Buffer {
  const bytes = requests.bytes[requests.position]
  if (!bytes) throw new Error('no requests')
  requests.position = (requests.position + 1) % requests.bytes.length
  return bytes
}

function sample(job: Run) {
  return {
    at: performance.now() * 1000,
    server: cpuOf(job.serverPid),
    postgres: job.postmasterPid === undefined ? undefined : cpuOfCluster(job.postmasterPid),
    load: cpuOf(process.pid),
  }
}

function answer(message: Prepared | Measured): void {
  process.send?.(message)
}
