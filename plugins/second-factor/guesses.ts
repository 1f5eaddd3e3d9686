/** Counts guesses at codes, of apps and of recovery together: six digits are few. */
import type { FastifyInstance } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import type { User } from '../../src/doors/user.ts'
import { LIMITS, ofUser, type ThrottleLimits } from '../../src/services/throttle/throttle-limits.ts'

/** What `check` says. Throws 429, before anything is checked, for who has guessed wrong too often. */
export type Guess = (user: User, call: BrowserCall, check: () => Promise<boolean>) => Promise<boolean>

/**
 * For one account from everywhere 20 at once and four an hour: three codes of a million are right at a time. Who has signed in with this
 * browser before has 20, and 20 an hour, whatever others do.
 */
const GUESSES: ThrottleLimits = {
  ...LIMITS,
  ownerOf: ofUser,
  everywhere: { failures: 20, recovery: 900 },
  marked: { failures: 20, recovery: 180 },
}

export function createGuess({ oauth, browser }: FastifyInstance): Guess {
  const throttle = oauth.throttle('factor', GUESSES)
  return async (user, { request }, check) => {
    const mark = await browser.markOf(request, user)
    const attempt = await throttle.attempt(user.id, request.ip, mark)
    try {
      const isRight = await check()
      if (isRight) attempt.succeeded()
      else await attempt.failed()
      return isRight
    } finally {
      attempt.abandoned()
    }
  }
}
