/**
 * What keeps people waiting and does not answer is left alone for a while: who asks meanwhile hears so at once, and one asks in their place
 * whether it is back. What refuses at once is asked each time, so that it is back as soon as it is.
 */
import { DirectoryFailure } from './connection.ts'

export interface Circuit {
  /** Throws `DirectoryFailure` without asking, while it rests. */
  run<T>(work: () => Promise<T>): Promise<T>
}

/** In a row. */
const FAILURES = 3
/** Milliseconds. */
const REST = 15_000
/** Milliseconds: what fails sooner keeps nobody. */
const SLOW = 500

export function createCircuit(now: () => number = () => performance.now()): Circuit {
  let failures = 0
  let restsUntil = 0
  let isTried = false

  return {
    async run(work) {
      const isOpen = failures >= FAILURES
      if (isOpen && (isTried || now() < restsUntil))
        throw new DirectoryFailure(
          'unreachable',
          'it did not answer a moment ago, and is not asked again yet',
        )
      // In the place of all others.
      if (isOpen) isTried = true
      const begun = now()
      try {
        const done = await work()
        failures = 0
        return done
      } catch (error) {
        const isSlow = error instanceof DirectoryFailure && now() - begun >= SLOW
        if (!isSlow) failures = 0
        else if (++failures >= FAILURES) restsUntil = now() + REST
        throw error
      } finally {
        if (isOpen) isTried = false
      }
    },
  }
}
