/** What one process knows of one limit: how many failures it has left, and when there is one again. Knows no clock. */
import type { Limit } from './throttle-limits.ts'

export interface Bucket {
  /** Milliseconds after which a failure is forgotten. */
  readonly step: number
  /** Milliseconds after which all but one are. */
  readonly tolerance: number
  /** The name under which all processes count it: keyed hashes. */
  readonly key: () => { readonly source: string; readonly account: string }
  /** The earliest next try, by `performance.now()`; the further in the past, the more failures are left. */
  freeAt: number
  /** When the database last said so. */
  learnedAt: number
  /** Attempts that may still fail. */
  inFlight: number
  /** Those that wait for them, since these could use up what is left. */
  waiting: (() => void)[]
  /** When it was last told of, at its limit. */
  toldAt: number
}

/** A limit that nobody has run into. */
export function createBucket({ failures, recovery }: Limit, key: Bucket['key']): Bucket {
  const step = recovery * 1000
  const never = -Infinity
  return {
    step,
    tolerance: (failures - 1) * step,
    key,
    freeAt: never,
    learnedAt: never,
    inFlight: 0,
    waiting: [],
    toldAt: never,
  }
}

/** How many attempts may fail before it is at its limit. */
function failuresLeft({ freeAt, step, tolerance }: Bucket, now: number): number {
  return freeAt > now ? 0 : Math.floor(Math.min(now - freeAt, tolerance) / step) + 1
}

/** Whether those under way could use up what is left. */
export function isFull(bucket: Bucket, now: number): boolean {
  return bucket.inFlight >= failuresLeft(bucket, now)
}

/** Whether no failure is remembered. */
export function isUntouched({ freeAt, tolerance }: Bucket, now: number): boolean {
  return freeAt <= now - tolerance
}

/** Counts a failure without the database's word. */
export function addFailure(bucket: Bucket, now: number): void {
  bucket.freeAt = Math.max(bucket.freeAt, now - bucket.tolerance) + bucket.step
  bucket.learnedAt = now
}

/**
 * Whether it is at its limit, and that is news: once in the time after which every failure is forgotten, however many more
 * come, and whatever successes between them. Asking makes it known.
 */
export function isNews(bucket: Bucket, now: number): boolean {
  const { freeAt, step, tolerance, toldAt } = bucket
  if (freeAt <= now || now - toldAt < tolerance + step) return false
  bucket.toldAt = now
  return true
}
