/**
 * What gives tokens once and whose exchange was answered 503, so that nobody knows whether it was stored. If it was, what it gave is in
 * nobody's hands, and is owed to whoever proves all that it is bound to once more: that is no second use. Each process knows its own,
 * for a minute.
 */
import { createBoundedCache } from '../bounded-cache.ts'

/** Milliseconds in which a client tries again. */
const OWED_FOR = 60_000
const MAX_OWED = 1000

export interface Owed<Given> {
  /** That one of these may have been stored for `what`, and was not handed out. */
  owe(what: string, given: readonly Given[]): void
  /** Those that are owed for it. */
  of(what: string): readonly Given[]
  /** The same, and none from now on: each is handed out once. */
  take(what: string): readonly Given[]
}

export function createOwed<Given>(): Owed<Given> {
  const owed = createBoundedCache<readonly Given[]>(MAX_OWED, { ttl: OWED_FOR })
  const of = (what: string): readonly Given[] => owed.get(what) ?? []
  return {
    of,
    owe(what, given) {
      owed.set(what, [...of(what), ...given])
    },
    take(what) {
      const taken = of(what)
      owed.delete(what)
      return taken
    },
  }
}
