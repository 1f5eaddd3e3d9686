/**
 * What goes with events that have no transaction of their own: stored behind them, at once, and in memory while the database is away. A crash loses what
 * is there, as it does of the events themselves.
 */
import type { FastifyBaseLogger } from 'fastify'
import { isDuplicate, isMisfit } from '../../store/failures.ts'

export interface Observed<Row> {
  add(rows: readonly Row[]): void
  /** Stores what is left, if that can be done now. */
  stop(): Promise<void>
}

/** Milliseconds until it is tried again. */
const PAUSE = 1000
/** Rows that wait while the database is away, and those that are stored together. */
const [MOST, CHUNK] = [20_000, 100]

/** `store` stores all of them or nothing, and fails as one with a duplicate (23505) where it has done so before. */
export function createObserved<Row>(
  store: (rows: readonly Row[]) => Promise<void>,
  log: FastifyBaseLogger,
): Observed<Row> {
  let waiting: Row[] = []
  /** What was tried, as it was: it may be stored, where the answer was lost. */
  let tried: readonly Row[] = []
  let lost = 0
  let isAway = false
  let storing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  async function storeTried(): Promise<void> {
    try {
      await store(tried)
    } catch (error) {
      if (isDuplicate(error)) return
      if (!isMisfit(error)) throw error
      log.error({ err: error, lost: tried.length }, 'what goes with events cannot be stored, and is left out')
    }
  }

  async function storeAll(): Promise<void> {
    try {
      while (tried.length + waiting.length > 0) {
        if (tried.length === 0) [tried, waiting] = [waiting.slice(0, CHUNK), waiting.slice(CHUNK)]
        await storeTried()
        tried = []
      }
      if (lost > 0) log.error({ lost }, 'what goes with events was lost while the database was away')
      ;[isAway, lost] = [false, 0]
    } catch (error) {
      if (!isAway) log.warn({ err: error }, 'what goes with events could not be stored; this is tried again')
      isAway = true
      timer = setTimeout(begin, PAUSE).unref()
    }
  }

  function begin(): void {
    storing = storeAll().finally(() => {
      storing = undefined
      if (waiting.length > 0 && !isAway) begin()
    })
  }

  return {
    add(rows) {
      const room = Math.max(0, MOST - waiting.length)
      waiting.push(...rows.slice(0, room))
      lost += Math.max(0, rows.length - room)
      if (storing === undefined && !isAway) begin()
    },
    async stop() {
      clearTimeout(timer)
      await storing
      clearTimeout(timer)
      if (isAway) await storeAll()
      clearTimeout(timer)
      const left = tried.length + waiting.length + lost
      if (left > 0) log.error({ lost: left }, 'what goes with events is lost, since the database is away')
    },
  }
}
