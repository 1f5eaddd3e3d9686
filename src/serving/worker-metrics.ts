/**
 * The metrics of several workers as one: the supervisor asks each for its own and adds them up. What a worker has
 * counted stays in the sum when it dies, since a sum that falls would look like a restart of all.
 */
import cluster, { type Worker } from 'node:cluster'
import { AggregatorRegistry } from 'prom-client'
import type { Metric, Metrics } from '../../plugins/metrics/index.ts'

interface Question {
  readonly latchkeyMetrics: number
}
interface Answer extends Question {
  readonly metrics: Metric[]
}

/** Milliseconds after which a worker's former answer serves. */
const PATIENCE = 2000

/** For the supervisor, before it starts workers. */
export function gatherMetrics(): () => Promise<string> {
  const known = new Map<number, Metric[]>()
  let departed: Metric[] = []
  let adding = Promise.resolve()
  let asked = 0

  cluster.on('exit', ({ id }) => {
    const last = known.get(id)?.filter(isCounted)
    known.delete(id)
    if (last === undefined) return
    adding = adding.then(async () => {
      departed = await AggregatorRegistry.aggregate([departed, last]).getMetricsAsJSON()
    })
  })

  async function ask(worker: Worker): Promise<void> {
    const number = ++asked
    const answered = new Promise<void>((resolve) => {
      const read = (message: Partial<Answer>): void => {
        if (message.latchkeyMetrics !== number) return
        if (!worker.isDead()) known.set(worker.id, message.metrics ?? [])
        done()
      }
      const done = (): void => {
        clearTimeout(timer)
        worker.off('message', read).off('exit', done)
        resolve()
      }
      const timer = setTimeout(done, PATIENCE)
      worker.on('message', read).once('exit', done)
    })
    worker.send({ latchkeyMetrics: number } satisfies Question, () => {})
    return answered
  }

  return async () => {
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected())
    await Promise.all(workers.map(async (worker) => worker && ask(worker)))
    await adding
    return AggregatorRegistry.aggregate([...known.values(), departed]).metrics()
  }
}

/** For a worker: answers the supervisor. */
export function reportMetrics({ collect }: Metrics): void {
  process.on('message', ({ latchkeyMetrics }: Partial<Question>) => {
    if (latchkeyMetrics === undefined) return
    void collect().then((metrics) => process.send?.({ latchkeyMetrics, metrics } satisfies Answer))
  })
}

/** A gauge is of a moment, and of somebody who is there. */
function isCounted(metric: Metric): boolean {
  return ['counter', 'histogram'].includes((metric as { type: string }).type)
}
