/**
 * Runs again what PostgreSQL refused to serialize (40001, 40P01): all of it is undone then, so that another try is as good
 * as the first. What must not happen twice outside the database is for the caller to keep out of it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isRetryable } from './failures.ts'

const TRIES = 8

/** Runs a transaction, up to 8 times; the last refusal is thrown. */
export async function retried<T>(run: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await run()
    } catch (error) {
      if (tried === TRIES || !isRetryable(error)) throw error
      // Many who change one row lose to one of them at a time: they spread out.
      await delay(Math.random() * 5 * 2 ** tried)
    }
  }
}
