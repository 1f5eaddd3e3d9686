/**
 * The failures that all processes count together: each is one guarded statement, and who is at a limit is read once
 * a second, so that the way to a success asks nothing of the database.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../../store/database.ts'
import { isUnavailable } from '../../store/failures.ts'
import { statements } from '../../store/throttles.ts'
import { createBackgroundLoop } from '../background-loop.ts'
import { addFailure, type Bucket } from './throttle-bucket.ts'

export interface ThrottledEverywhere {
  /** Counts a failure in each of the buckets, which have one source. False when one was at its limit already. */
  fail(buckets: readonly Bucket[]): Promise<boolean>
  /** Forgets the failures of a bucket; behind the request. */
  forgive(bucket: Bucket): void
  /** Brings a bucket to what was last read. */
  refresh(bucket: Bucket): void
  start(): Promise<void>
  stop(): Promise<void>
}

/** Milliseconds between two reads of who is at a limit. */
const INTERVAL = 1000
/** Milliseconds by which what was read may be more than one step: a statement takes its time. */
const SLACK = 1000

export function createThrottledEverywhere(database: Database, log: FastifyBaseLogger): ThrottledEverywhere {
  /** Who was at a limit at `toldAt`, and for how many milliseconds more. */
  let blocked: ReadonlyMap<string, number> = new Map()
  let toldAt = -Infinity
  let readAt = -Infinity

  async function poll(): Promise<void> {
    const began = performance.now()
    const rows = await database.query(statements.blocked)
    toldAt = performance.now()
    blocked = new Map(rows.map(({ source, account, freeIn }) => [`${source} ${account}`, freeIn]))
    readAt = began
  }

  /** An absent database is not our news: the change feed tells of it. */
  const report = (error: unknown): void => {
    if (!isUnavailable(error)) log.warn({ err: error }, 'failures are not counted across processes')
  }

  const loop = createBackgroundLoop(
    async () => poll().catch(report),
    () => INTERVAL,
  )

  return {
    async fail(buckets) {
      if (buckets.length === 0) return true
      const accounts = buckets.map(({ key }) => key().account)
      try {
        const rows = await database.query(statements.fail, [
          buckets[0]!.key().source,
          accounts,
          buckets.map(({ step }) => step),
          buckets.map(({ tolerance }) => tolerance),
        ])
        const now = performance.now()
        for (const [at, bucket] of buckets.entries()) {
          const freeIn = rows.find(({ account }) => account === accounts[at])?.freeIn
          // Answers to failures at once may come in another order than the failures were counted in.
          if (freeIn !== undefined) bucket.freeAt = Math.max(bucket.freeAt, now + freeIn)
          else if (bucket.freeAt <= now) bucket.freeAt = now + bucket.step
          bucket.learnedAt = now
        }
        return rows.length === buckets.length
      } catch (error) {
        report(error)
        for (const bucket of buckets) addFailure(bucket, performance.now())
        return true
      }
    },
    forgive(bucket) {
      const { source, account } = bucket.key()
      bucket.freeAt = -Infinity
      bucket.learnedAt = performance.now()
      void database.query(statements.forgive, [source, account]).catch(report)
    },
    refresh(bucket) {
      if (bucket.learnedAt >= readAt) return
      const { source, account } = blocked.size === 0 ? { source: '', account: '' } : bucket.key()
      const freeIn = blocked.get(`${source} ${account}`) ?? 0
      // Longer than one failure takes to come back nobody is kept out: the clock was set back since.
      const isAtLimit = freeIn > 0 && freeIn <= bucket.step + SLACK
      bucket.freeAt = isAtLimit ? toldAt + freeIn : Math.min(bucket.freeAt, readAt)
      bucket.learnedAt = readAt
    },
    async start() {
      await poll()
      loop.start()
    },
    stop: loop.stop,
  }
}
