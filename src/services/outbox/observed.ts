/**
 * What goes with events that have no transaction of their own: stored behind them, at once, and in memory while the database is away. A crash loses what
 * is there, as it does of the events themselves.
 */
import type { FastifyBaseLogger } from 'fastify'
import { isDuplicate, isMisfit, isUnavailable } from '../../store/failures.ts'

export interface Observed<Row> {
  add(rows: readonly Row[]): void
  /** Stores what is left, if that can be done now. */
  stop(): Promise<void>
}

/** Milliseconds until it is tried again. */
const PAUSE = 1000
/** Rows that wait while the database is away, and those that are stored together. */
const [MOST, CHUNK] = [20_000, 100]
const TRIES = 5

/** `store` stores all of them or nothing, and fails as one with a duplicate (23505) where it has done so before. */
export function createObserved<Row>(
  store: (rows: readonly Row[]) => Promise<void>,
  log: FastifyBaseLogger,
): Observed<Row> {
  let waiting: Row[] = []
  /** What was tried, as it was: it may be stored, where the answer was lost. Of what does not fit together, the halves. */
  let tried: readonly (readonly Row[])[] = []
  /** Of one alone that failed for no reason that is known. */
  let tries = 0
  let lost = 0
  let isAway = false
  let storing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  /** What is left to do of `rows`: of several that are not taken, one alone may be why. Throws where the database takes none now. */
  async function storeTried(rows: readonly Row[]): Promise<readonly (readonly Row[])[]> {
    try {
      await store(rows)
      tries = 0
    } catch (error) {
      if (isDuplicate(error)) return []
      if (isUnavailable(error)) throw error
      const half = Math.ceil(rows.length / 2)
      if (rows.length > 1) return [rows.slice(0, half), rows.slice(half)]
      // What passes, as of a pooler that lost its statements, is worth another try; nothing is worth all others.
      if (!isMisfit(error) && ++tries < TRIES) throw error
      log.error({ err: error, lost: 1 }, 'what goes with an event cannot be stored, and is left out')
      tries = 0
    }
    return []
  }

  async function storeAll(): Promise<void> {
    try {
      while (tried.length + waiting.length > 0) {
        if (tried.length === 0) [tried, waiting] = [[waiting.slice(0, CHUNK)], waiting.slice(CHUNK)]
        const [first = [], ...others] = tried
        tried = [...(await storeTried(first)), ...others]
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
      const left = tried.flat().length + waiting.length + lost
      if (left > 0) log.error({ lost: left }, 'what goes with events is lost, since the database is away')
    },
  }
}
