/** Waiting for what comes in its own time: on a busy machine, later. `expect.poll` is for values, this is for the rest. */
import { vi } from 'vitest'

/** Does it again until it throws no more, and returns what it returned; a minute at most, then throws what it threw. */
export async function until<T>(work: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(work, { timeout: 60_000, interval: 25 })
}
