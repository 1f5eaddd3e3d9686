/** How long ago something was, such as a sign-in, where the clock by which that was written down may have been another. */
import { CLOCK_SKEW } from './signed-jwt.ts'

/** Seconds by which the clocks of our processes and the database's may differ. */
export const OWN_CLOCK_SKEW = 2

/**
 * Milliseconds from `instant` to `now`, in milliseconds since the epoch. Infinity for what is further ahead than clocks may differ: it says
 * nothing of how long ago it was.
 */
export function ageOf(instant: number, now: number = Date.now()): number {
  const age = now - instant
  return age < -CLOCK_SKEW * 1000 ? Infinity : age
}
