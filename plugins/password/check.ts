/** Whether a password is somebody's, throttled: wherever one is asked for, guesses count together. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { KnownBrowser, PasswordAnswer, PasswordSource } from '../../src/doors/password-source.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { usernameKey } from '../../src/protocol/username.ts'
import { LIMITS, type ThrottleLimits } from '../../src/services/throttle/throttle-limits.ts'
import type { Throttle } from '../../src/services/throttle/throttle.ts'
import type { Candidate } from '../../src/services/users/user-authentication.ts'
import type { User } from '../../src/services/users/user.ts'
import type { OAuth } from '../oauth/index.ts'

/** RFC 8176 §2. */
export const PASSWORD_AMR = ['pwd'] as const
/** ISO/IEC 29115 level 1: a password, and tries are limited. */
export const PASSWORD_ACR = '1'

/**
 * For one name from everywhere 30 at once and 20 an hour: an account has two names, its user name and its verified address, which are 100 in
 * any hour, and tries by one tell nothing of the other (docs/adr/0048-the-address-before-the-name.md). For a browser that the account has signed in with
 * before, 20 and 20 of its own. Of one network, 400 that nobody else could judge and one a second: an office finds out that its directory is away, and nobody
 * tries one password on all accounts meanwhile. Who is one too many is told at once: as many wait for others of their network as may wait to be hashed.
 */
const GUESSES: ThrottleLimits = {
  ...LIMITS,
  unanswered: { failures: 400, recovery: 1 },
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

/** Who it is, or why they cannot be let in; null as `PasswordCheck`. */
export type SignInCheck = (
  username: string,
  password: string,
  request: FastifyRequest,
) => Promise<PasswordAnswer>

/** Of each server, the one that the first of these places has taken: guesses count together. */
const throttles = new WeakMap<OAuth, Throttle>()

/** Wherever a password of ours is asked for. */
export function createPasswordCheck(fastify: FastifyInstance): PasswordCheck {
  const attempt = createAttempt(fastify)
  return async (whom, password, request) =>
    attempt(whom, request, async (candidate) => candidate.authenticate(password))
}

/** Where people sign in: by a password of ours, or else by that of a source which has theirs. */
export function createSignInCheck(fastify: FastifyInstance): SignInCheck {
  const attempt = createAttempt(fastify)
  const sources = (): PasswordSource[] => [...fastify.oauth.owners('passwordSource').values()]

  async function askOthers(
    username: string,
    password: string,
    browser: KnownBrowser,
  ): Promise<Elsewhere | null> {
    if (password === '') return null
    for (const source of sources()) {
      const answer = await source.check({ username, password }, browser)
      if (answer !== null) return { answer }
    }
    return null
  }

  return async (username, password, request) => {
    // That it is no password of ours was found out before: that counts, whoever is called so, and whatever keeps the others from answering.
    // Where they are away, everybody's does, and says little of a network.
    let isAway = false
    let unanswered = (): PasswordAnswer => null
    const browser: KnownBrowser = { markOf: async (whom) => fastify.browser.markOf(request, whom) }
    const check = async (candidate: Candidate) =>
      candidate.authenticate(password, async () => {
        try {
          const asked = await askOthers(username, password, browser)
          if (asked === null || !('refused' in asked.answer) || asked.answer.status !== 503) return asked
          isAway = true
          unanswered = () => asked.answer
        } catch (error) {
          unanswered = () => {
            throw error
          }
        }
        return null
      })
    const found = await attempt(username, request, check, () => ({ network: !isAway }))
    if (found === null) return unanswered()
    return 'answer' in found ? found.answer : { user: found }
  }
}

interface Elsewhere {
  readonly answer: NonNullable<PasswordAnswer>
}

/** Whether it shows that what was tried under this name was theirs: what a source says of somebody else of the same name forgives no guesses at it. */
function isTheirs(username: string, found: object): boolean {
  const { answer } = found as Partial<Elsewhere>
  if (answer === undefined) return true
  return 'user' in answer && usernameKey(answer.user.username) === usernameKey(username)
}

type Attempt = <T extends object>(
  whom: string | User,
  request: FastifyRequest,
  check: (candidate: Candidate) => Promise<T | null>,
  /** Where a failure counts. */
  countedFor?: () => { network: boolean },
) => Promise<T | null>

function createAttempt(fastify: FastifyInstance): Attempt {
  const { oauth, browser } = fastify
  const throttle = throttles.get(oauth) ?? oauth.throttle('user', GUESSES)
  throttles.set(oauth, throttle)
  const { users } = kernelOf(fastify)
  return async (whom, request, check, countedFor) => {
    const username = typeof whom === 'string' ? whom : whom.username
    const candidate = await users.candidate(whom)
    const mark = await browser.markOf(request, candidate.whom)
    const attempt = await throttle.attempt(usernameKey(username), request.ip, mark)
    try {
      const found = await check(candidate)
      if (found === null) await attempt.failed(countedFor?.())
      else if (isTheirs(username, found)) attempt.succeeded()
      return found
    } finally {
      attempt.abandoned()
    }
  }
}
