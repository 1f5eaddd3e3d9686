/**
 * Runs again what PostgreSQL refused to serialize (40001, 40P01): all of it is undone then, so that another try is as good
 * as the first. What must not happen twice outside the database is for the caller to keep out of it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isRetryable } from './failures.ts'

/**
 * Milliseconds from the first try on after which there is no other one. No number of tries: what is long loses to what is short,
 * as often as there is any beside it.
 */
const PATIENCE = 5000
/** The most milliseconds between two tries, so that there are some thirty of them in all. */
const LONGEST_PAUSE = 320

const CLOCK = {
  now: (): number => performance.now(),
  pause: async (milliseconds: number): Promise<unknown> => delay(milliseconds),
}

/** Runs a transaction, again and again for up to 5 s; the last refusal is thrown. */
export async function retried<T>(run: () => Promise<T>, { now, pause } = CLOCK): Promise<T> {
  const end = now() + PATIENCE
  for (let longest = 10; ; longest = Math.min(2 * longest, LONGEST_PAUSE)) {
    try {
      return await run()
    } catch (error) {
      if (!isRetryable(error) || now() >= end) throw error
      // Many who change one row lose to one of them at a time: they spread out.
      await pause(Math.random() * longest)
    }
  }
}
