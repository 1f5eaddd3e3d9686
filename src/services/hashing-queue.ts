/**
 * Bounds slow password hashing: a few at a time and a short line behind them, so that a rush of logins never
 * takes the thread pool away from tokens (measured: unbounded, a token endpoint falls to a hundredth).
 */
import { availableParallelism } from 'node:os'
import { OAuthError } from '../protocol/errors.ts'

export interface HashingQueue {
  /** Runs `work` when its turn comes. Throws `temporarily_unavailable` (503) when the line is full. */
  run<T>(work: () => Promise<T>): Promise<T>
}

export function createHashingQueue(
  concurrency: number = Math.max(1, availableParallelism() - 1),
  maxWaiting: number = 64,
): HashingQueue {
  const waiting: (() => void)[] = []
  let running = 0
  return {
    async run(work) {
      if (running >= concurrency) {
        if (waiting.length >= maxWaiting)
          throw new OAuthError('temporarily_unavailable', 'too many sign-ins at once', { retryAfter: 2 })
        await new Promise<void>((resolve) => waiting.push(resolve))
      } else {
        running++
      }
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next === undefined) running--
        else next()
      }
    },
  }
}
