/** Waiting for what comes in its own time: on a busy machine, later. `expect.poll` is for values, this is for the rest. */
import { vi } from 'vitest'

/** Does it again until it throws no more, and returns what it returned; after so many milliseconds, throws what it threw. */
export async function until<T>(work: () => T | Promise<T>, timeout = 60_000): Promise<T> {
  return vi.waitFor(work, { timeout, interval: 25 })
}
