/**
 * Codes whose exchange was answered 503, so that nobody knows whether it was stored. If it was, what it gave is in nobody's
 * hands, and is owed to whoever proves all that the code is bound to once more: that is no second use. Each process knows
 * its own, for a minute.
 */
import { createBoundedCache } from '../bounded-cache.ts'

/** Milliseconds in which a client tries again. */
const OWED_FOR = 60_000
const MAX_OWED = 1000

export interface OwedCodes {
  /** That one of these refresh tokens may have been stored for `code`, and was not handed out. */
  owe(code: string, refreshTokens: readonly string[]): void
  /** Those that are owed for it. */
  of(code: string): readonly string[]
  /** The same, and none from now on: each is handed out once. */
  take(code: string): readonly string[]
}

export function createOwedCodes(): OwedCodes {
  const owed = createBoundedCache<readonly string[]>(MAX_OWED, { ttl: OWED_FOR })
  const of = (code: string): readonly string[] => owed.get(code) ?? []
  return {
    of,
    owe(code, refreshTokens) {
      owed.set(code, [...of(code), ...refreshTokens])
    },
    take(code) {
      const taken = of(code)
      owed.delete(code)
      return taken
    },
  }
}
