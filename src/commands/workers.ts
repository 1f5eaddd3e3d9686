/** WORKERS: several processes on one port. One that dies is replaced; all of them stop in order with the first. */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { EmbeddedPostgres } from '../services/embedded-postgres.ts'

/** Milliseconds before a worker that died is replaced. */
const PAUSE = 1000

/** Runs `count` workers on `port` until SIGTERM or SIGINT; `postgres` is kept open for them. */
export async function superviseWorkers(
  count: number,
  port: number,
  postgres: EmbeddedPostgres | undefined,
): Promise<void> {
  let stopping = false
  let hasServed = false

  const stop = async (status: number): Promise<void> => {
    if (stopping) return
    stopping = true
    await Promise.all(Object.values(cluster.workers ?? {}).map(async (worker) => worker && end(worker)))
    await postgres?.stop()
    process.exit(status)
  }

  cluster.on('listening', () => {
    hasServed = true
  })
  cluster.on('exit', (_worker, status) => {
    if (stopping) return
    // What cannot start at all cannot start the next time either; it has said why.
    if (!hasServed && status !== 0 && status !== null) void stop(1)
    else void delay(PAUSE).then(() => stopping || cluster.fork({ PORT: String(port) }))
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(0))
  for (let started = 0; started < count; started++) cluster.fork({ PORT: String(port) })
  await once(cluster, 'listening')
}

async function end(worker: Worker): Promise<void> {
  worker.process.kill('SIGTERM')
  if (!worker.isDead()) await once(worker, 'exit')
}
