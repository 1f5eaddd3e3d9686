/** WORKERS: several processes on one port. One that dies is replaced, which the log says; all of them stop in order with the first. */
import cluster, { type Worker } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { EmbeddedPostgres } from '../services/database/embedded-postgres.ts'
import { stdoutLog } from '../services/log-destination.ts'
import { writeWarning } from '../services/warning-line.ts'
import { listenForMetrics } from './metrics-listener.ts'
import { MORE, onStopSignal, stopsWithin } from './signals.ts'
import { onServing, tellTakers } from './taking.ts'

/** Milliseconds before a worker that died is replaced. */
const PAUSE = 1000
/** Set for the worker that does what is done once on a machine. */
const FIRST = 'LATCHKEY_FIRST_WORKER'

/** Set for a worker whose supervisor found the default port taken. */
const TAKEN = 'LATCHKEY_TAKEN_PORT'

export interface ChosenPort {
  readonly port: number
  /** The default one, where it was in use, so that this is another. */
  readonly taken?: number | undefined
}

/** What this worker's supervisor found taken, if it did. */
export function takenPort(): number | undefined {
  return cluster.isWorker ? Number(process.env[TAKEN]) || undefined : undefined
}

/** Whether this is the only process, or the first worker, or the one that replaces it. */
export function isFirstProcess(): boolean {
  return cluster.isPrimary || process.env[FIRST] === '1'
}

/**
 * What a worker asks its supervisor, which lets everybody in and hands them out, and is told when it has been done: by a
 * number, since an answer may come too late. After a 'look', whom the supervisor gave to this worker before is here; it is
 * the 'end' when, beside that, no worker listens any more of those that stop together.
 */
interface Question {
  readonly latchkeyQuestion: number
  readonly of: 'look' | 'end'
}
let questions = 0

/** Ends when the supervisor says so. */
export async function askSupervisor(of: Question['of']): Promise<void> {
  const question: Question = { latchkeyQuestion: questions++, of }
  await new Promise<void>((resolve) => {
    process.on('message', function listen({ latchkeyQuestion }: Partial<Question>) {
      if (latchkeyQuestion !== question.latchkeyQuestion) return
      process.off('message', listen)
      resolve()
    })
    // Without a supervisor there is nobody to ask, and no use in waiting.
    process.send?.(question, undefined, undefined, (error) => error !== null && resolve())
  })
}

/** For the supervisor; `isStopping` tells whether all workers end, and not the one alone that asks. */
function answerWorkers(isStopping: () => boolean): void {
  const listenNoMore = new Set<Worker>()
  const waiting: (() => void)[] = []
  const answerWaiting = (): void => {
    if (isStopping() && !living().every((worker) => listenNoMore.has(worker))) return
    for (const answer of waiting.splice(0)) answer()
  }
  cluster.on('message', (worker, { latchkeyQuestion, of }: Partial<Question>) => {
    if (latchkeyQuestion === undefined) return
    const answer = (): void => {
      // The second one comes after a look that began after the question.
      setImmediate(() => setImmediate(() => worker.send({ latchkeyQuestion }, () => {})))
    }
    if (of === 'end') {
      listenNoMore.add(worker)
      waiting.push(answer)
      answerWaiting()
    } else answer()
  })
  cluster.on('exit', answerWaiting)
}

/** Runs WORKERS of them on `port` until SIGTERM or SIGINT; `postgres` is kept open for them. */
export async function superviseWorkers(
  config: Config,
  { port, taken }: ChosenPort,
  postgres: EmbeddedPostgres | undefined,
): Promise<void> {
  if (config.METRICS_PORT !== undefined) {
    const { gatherMetrics } = await import('./worker-metrics.ts')
    await listenForMetrics(config, gatherMetrics())
  }
  const patience = stopsWithin(config.SHUTDOWN_DELAY) + MORE
  let stopping = false
  let hasServed = false
  let first: Worker | undefined

  const fork = (isFirst: boolean): void => {
    const worker = cluster.fork({
      PORT: String(port),
      [FIRST]: isFirst ? '1' : '',
      [TAKEN]: String(taken ?? ''),
    })
    if (isFirst) first = worker
  }

  const stop = async (status: number): Promise<void> => {
    if (stopping) return
    stopping = true
    const ended = await Promise.all(living().map(async (worker) => end(worker, patience)))
    await postgres?.stop()
    process.exit(ended.every(Boolean) ? status : 1)
  }

  answerWorkers(() => stopping)
  if (!config.WORKERS_SPREAD) tellTakers(port)
  // Said to one that is just gone; that it is gone, 'exit' tells.
  cluster.on('fork', (worker) => worker.on('error', () => {}))
  const serving = new Promise<void>((resolve) => {
    onServing(port, () => {
      hasServed = true
      resolve()
    })
  })
  cluster.on('exit', (worker, status: number | null, signal: string | null) => {
    if (stopping) return
    // What cannot start at all cannot start the next time either; it has said why.
    if (!hasServed && status !== 0 && status !== null) {
      void stop(1)
      return
    }
    const about = { pid: worker.process.pid, status, signal }
    writeWarning(config.LOG_LEVEL, stdoutLog(), about, 'a worker has ended, and is replaced')
    void delay(PAUSE).then(() => stopping || fork(worker === first))
  })
  onStopSignal(
    async () => stop(0),
    () => {
      for (const worker of living()) worker.process.kill('SIGKILL')
      process.exit(1)
    },
  )
  for (let started = 0; started < config.WORKERS; started++) fork(started === 0)
  await serving
}

function living(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}

/**
 * Whether it ended in order; one that did not listen yet has nothing to put in order. One that has not ended after
 * `patience` milliseconds does not hear us any more.
 */
async function end({ process: worker }: Worker, patience: number): Promise<boolean> {
  const ended = new Promise((resolve) => worker.once('exit', resolve))
  worker.kill('SIGTERM')
  const timer = setTimeout(() => {
    console.error(`Worker ${worker.pid} did not end in time and was killed.`)
    worker.kill('SIGKILL')
  }, patience)
  if (worker.exitCode === null && worker.signalCode === null) await ended
  clearTimeout(timer)
  return worker.exitCode === 0 || worker.signalCode === 'SIGTERM'
}
