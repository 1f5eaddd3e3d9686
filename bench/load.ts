// Owns the load generator, a process of its own: it keeps the connections busy, and counts and times the answers
// between two samples of what everything cost.

import { setTimeout as sleep } from 'node:timers/promises'
import { openConnection } from './connection.ts'
import { residentMemory } from './cpu.ts'
import type { Expectation, Measured, Prepare, Prepared, Run } from './load-protocol.ts'
import { createSupply, type Supply } from './supply.ts'
import { sample, usedBetween } from './usage.ts'

interface Requests {
  port: number
  expectation: Expectation
  supply: Supply
}

const prepared = new Map<string, Requests>()

process.on('message', (message: Prepare | Run) => {
  if (message.type === 'prepare') prepare(message)
  else void run(message)
})
process.on('disconnect', () => process.exit())

function prepare(message: Prepare): void {
  const { name, port, expectation } = message
  prepared.set(name, { port, expectation, supply: createSupply(message) })
  answer({ type: 'prepared' })
}

async function run(job: Run): Promise<void> {
  const requests = prepared.get(job.name)
  if (!requests) throw new Error(`nothing prepared for ${job.name}`)
  const count = newCount()
  const { promise: exhausted, resolve: exhaust } = Promise.withResolvers<void>()

  const connections = Array.from({ length: job.connections }, (_, index) =>
    openConnection({
      port: requests.port,
      expectation: requests.expectation,
      feed: requests.supply(index),
      onResponse: (milliseconds, error) => {
        count.requests++
        count.times.push(milliseconds)
        if (error === undefined) return
        count.errors++
        count.firstError ??= error
      },
      onExhausted: exhaust,
    }),
  )

  await Promise.race([sleep(job.warmUp * 1000), exhausted])
  const before = sample(job)
  Object.assign(count, newCount())
  await Promise.race([sleep(job.seconds * 1000), exhausted])
  const after = sample(job)
  const { times, ...counted } = { ...count }
  await Promise.all(connections.map((connection) => connection.close()))

  answer({
    type: 'measured',
    ...counted,
    ...percentiles(times),
    ...usedBetween(before, after),
    serverMemory: residentMemory(job.serverPid),
  })
}

function newCount() {
  return { requests: 0, errors: 0, firstError: undefined as string | undefined, times: [] as number[] }
}

function percentiles(times: number[]): Pick<Measured, 'p50' | 'p99'> {
  const sorted = Float64Array.from(times).toSorted()
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

function answer(message: Prepared | Measured): void {
  process.send?.(message)
}
