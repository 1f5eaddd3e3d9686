// Owns the load generator, a process of its own: it keeps the connections busy, and counts and times the answers
// between two samples of what everything cost.

import { openConnection } from './connection.ts'
import { residentMemory } from './cpu.ts'
import type { Supply } from './feed.ts'
import type { Measured, Prepare, Prepared, Run } from './load-protocol.ts'
import { closedPace, openPace } from './pace.ts'
import { createSupply } from './supply.ts'
import { sample, usedBetween } from './usage.ts'

type Requests = Pick<Prepare, 'ports' | 'closing' | 'expectation'> & { supply: Supply }

const prepared = new Map<string, Requests>()

process.on('message', (message: Prepare | Run) => {
  if (message.type === 'prepare') prepare(message)
  else void run(message)
})
process.on('disconnect', () => process.exit())

function prepare(message: Prepare): void {
  prepared.set(message.name, { ...message, supply: createSupply(message) })
  answer({ type: 'prepared' })
}

async function run(job: Run): Promise<void> {
  const requests = prepared.get(job.name)
  if (!requests) throw new Error(`nothing prepared for ${job.name}`)
  const { ports, closing, expectation, supply } = requests
  const count = newCount()
  const { promise: exhausted, resolve: exhaust } = Promise.withResolvers<void>()
  const pace = job.rate === undefined ? closedPace() : openPace(job.rate, job.connections)

  const connections = Array.from({ length: job.connections }, (_, index) =>
    openConnection({
      port: ports[index % ports.length]!,
      closing,
      pace,
      expectation,
      feed: supply(index),
      onResponse: (milliseconds, error) => {
        count.requests++
        count.times.push(milliseconds)
        if (error === undefined) return
        count.errors++
        count.firstError ??= error
      },
      onExhausted: exhaust,
      // An open pace would wait for all its connections.
      onLost: () => job.rate !== undefined && exhaust(),
    }),
  )

  await Promise.race([pace.run(job.warmUp), exhausted])
  const before = sample(job)
  Object.assign(count, newCount())
  const behind = await Promise.race([pace.run(job.seconds), exhausted])
  const after = sample(job)
  if (behind) {
    count.errors += behind
    count.firstError ??= 'this is more than can be answered here'
  }
  const { times, ...counted } = { ...count }
  await Promise.all(connections.map((connection) => connection.close()))

  answer({
    type: 'measured',
    ...counted,
    ...percentiles(times),
    ...usedBetween(before, after),
    serverMemory: job.serverPids.reduce((sum, pid) => sum + residentMemory(pid), 0),
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
