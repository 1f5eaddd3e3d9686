/** How often somebody may ask whether a person has decided (RFC 8628 §3.5, CIBA §7.3): who asks too early is to ask less often from then on. */
import type { Artifacts, PutOptions } from '../../../src/doors/artifacts.ts'

export interface Poll {
  /** Seconds. */
  readonly interval: number
  /** Milliseconds since the epoch. */
  readonly lastAt: number
}

export interface Polls {
  begin(id: string, options?: Omit<PutOptions, 'handle'>): Promise<void>
  /** Notes that it was asked; false when that came too early, and then has to leave 5 seconds more. */
  note(id: string): Promise<boolean>
}

/** Seconds. */
export const INTERVAL = 5
/** Before anybody asks. */
export const FIRST: Poll = { interval: INTERVAL, lastAt: 0 }
/** Milliseconds by which a poll may be early: requests do not all take the same time. */
const TOLERANCE = 1000

export function createPolls(polls: Artifacts<Poll>): Polls {
  return {
    async begin(id, options) {
      await polls.put(FIRST, { ...options, handle: id })
    },
    async note(id) {
      const before = await polls.get(id)
      if (before === null) return false
      const now = Date.now()
      const inTime = now - before.lastAt >= before.interval * 1000 - TOLERANCE
      const interval = before.interval + (inTime ? 0 : INTERVAL)
      // Two at once: one of them came too early.
      return (await polls.replace(id, before, { interval, lastAt: now })) && inTime
    },
  }
}
