/** Whether a password is somebody's, throttled: wherever one is asked for, guesses count together. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { kernelOf } from '../src/http/kernel-of.ts'
import { usernameKey } from '../src/protocol/username.ts'
import { LIMITS, type ThrottleLimits } from '../src/services/throttle/throttle-limits.ts'
import type { Throttle } from '../src/services/throttle/throttle.ts'
import type { User } from '../src/services/users/user.ts'
import type { OAuth } from './oauth.ts'

/** RFC 8176 §2. */
export const PASSWORD_AMR = ['pwd'] as const
/** ISO/IEC 29115 level 1: a password, and tries are limited. */
export const PASSWORD_ACR = '1'

/**
 * For one name from everywhere 30 at once and 20 an hour: an account has two names, its user name and its verified address, which are 100 in
 * any hour, and tries by one tell nothing of the other (docs/adr/0048-the-address-before-the-name.md). For a browser that the account has signed in with
 * before, 20 and 20 of its own. Who is one too many is told at once: as many wait for others of their network as may wait to be hashed.
 */
const GUESSES: ThrottleLimits = {
  ...LIMITS,
  everywhere: { failures: 30, recovery: 180 },
  marked: { failures: 20, recovery: 180 },
  waiting: 64,
}

/**
 * Null when the password is not the user's, or there is nobody of this name or verified address who may sign in. Of a user who was found it is
 * asked whether it is theirs. Throws 429, and 503 when too many ask at once.
 */
export type PasswordCheck = (
  whom: string | User,
  password: string,
  request: FastifyRequest,
) => Promise<User | null>

/** Of each server, the one that the first of these places has taken: guesses count together. */
const throttles = new WeakMap<OAuth, Throttle>()

/** Wherever a password is asked for. */
export function createPasswordCheck(fastify: FastifyInstance): PasswordCheck {
  const { oauth, browser } = fastify
  const throttle = throttles.get(oauth) ?? oauth.throttle('user', GUESSES)
  throttles.set(oauth, throttle)
  const { users } = kernelOf(fastify)
  return async (whom, password, request) => {
    const username = typeof whom === 'string' ? whom : whom.username
    const candidate = await users.candidate(whom)
    const mark = await browser.markOf(request, candidate.whom)
    const attempt = await throttle.attempt(usernameKey(username), request.ip, mark)
    try {
      const user = await candidate.authenticate(password)
      if (user === null) await attempt.failed()
      else attempt.succeeded()
      return user
    } finally {
      attempt.abandoned()
    }
  }
}
