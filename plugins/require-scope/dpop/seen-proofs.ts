// Remembers which proofs were used, in this process alone: for an API of several, give `dpop` a store that they share.
import { VerificationUnavailable } from '../bearer-error.ts'

/**
 * Whether `proof` is used for the first time; nobody takes it for good from `until` on. Throws `VerificationUnavailable`
 * when it cannot tell.
 */
export type Once = (proof: string, until: Date) => boolean | Promise<boolean>

/** Proofs: some 20 MB. With so many in a minute and a half, those who come are asked to come again. */
const CAPACITY = 200_000

/** @param now milliseconds since 1970 */
export function createSeenProofs(now: () => number, capacity = CAPACITY): Once {
  /** In the order in which they were used, which is nearly the one in which they end. */
  const seen = new Map<string, number>()

  function forgetOld(): void {
    const time = now()
    for (const [proof, until] of seen) {
      if (until > time) return
      seen.delete(proof)
    }
  }

  return (proof, until) => {
    forgetOld()
    if (seen.has(proof)) return false
    // To forget one that still counts would let it in again.
    if (seen.size >= capacity) throw new VerificationUnavailable({ retryAfter: 5 })
    seen.set(proof, until.getTime())
    return true
  }
}
