/** How long ago something was, such as a sign-in, where the clock by which that was written down may have been another. */
import { CLOCK_SKEW } from '../../plugins/require-scope/claims.ts'

/**
 * Milliseconds from `instant` to `now`, in milliseconds since the epoch. Infinity for what is further ahead than clocks may differ: it says
 * nothing of how long ago it was.
 */
export function ageOf(instant: number, now: number = Date.now()): number {
  const age = now - instant
  return age < -CLOCK_SKEW ? Infinity : age
}
