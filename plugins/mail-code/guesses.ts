/** Counts guesses at codes, by the address that they went to, which may be nobody's: six digits are few. */
import type { FastifyInstance } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import type { User } from '../../src/doors/user.ts'
import type { NewEvent } from '../../src/events.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { LIMITS, type ThrottleLimits } from '../../src/services/throttle/throttle-limits.ts'
import { ofAddress, whoseIs } from '../mail/whose.ts'
import type { Verdict } from './codes.ts'

export interface Guessed {
  readonly verdict: Verdict
  /** For the audit log, of one that was wrong. */
  readonly event?: NewEvent
}

/** What `check` says of who has the address now. Throws 429, before anything is checked, for who has guessed wrong too often. */
export type Guess = (
  email: string,
  call: BrowserCall,
  check: (user: User | null) => Promise<Verdict>,
) => Promise<Guessed>

/**
 * For one account from everywhere 20 at once and four an hour: a code is one of a million. Who has signed in with this browser before has 20, and 20 an
 * hour, whatever others do.
 */
const GUESSES: Omit<ThrottleLimits, 'ownerOf'> = {
  ...LIMITS,
  everywhere: { failures: 20, recovery: 900 },
  marked: { failures: 20, recovery: 180 },
}

export function createGuess(fastify: FastifyInstance): Guess {
  const { box } = kernelOf(fastify)
  const throttle = fastify.oauth.throttle('mail-code', { ...GUESSES, ownerOf: ofAddress(fastify) })

  function failureOf(user: User | null, account: string): NewEvent {
    const type = 'user.sign_in_failed' as const
    const hashed = box.hash(`audited user\0${account}`)
    return user === null
      ? { type, details: { method: 'mail-code', account: hashed } }
      : { type, user: user.id, details: { method: 'mail-code' } }
  }

  return async (email, { request }, check) => {
    const { user, account, mark } = await whoseIs(fastify, email, request)
    const attempt = await throttle.attempt(account, request.ip, mark)
    try {
      const verdict = await check(user)
      if (verdict.is === 'right') attempt.succeeded()
      if (verdict.is !== 'wrong') return { verdict }
      await attempt.failed()
      return { verdict, event: failureOf(user, account) }
    } finally {
      attempt.abandoned()
    }
  }
}
