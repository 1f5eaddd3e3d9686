/** User name and password, throttled, and signing a browser in by them: the same for every page that asks for them. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Session } from '../src/doors/interaction.ts'
import type { BrowserCall } from '../src/doors/interaction.ts'
import { compileParameters } from '../src/protocol/parameters.ts'
import { Type } from '../src/protocol/schema.ts'
import { usernameKey } from '../src/protocol/username.ts'
import type { Wire } from '../src/protocol/wire.ts'
import type { Throttle } from '../src/services/throttle/throttle.ts'
import { LIMITS, type ThrottleLimits } from '../src/services/throttle/throttle-limits.ts'
import type { User } from '../src/services/users/user.ts'
import { type Waiting, waitFor } from '../src/http/wait.ts'
import type { OAuth } from './oauth.ts'

/** RFC 8176 §2. */
export const PASSWORD_AMR = ['pwd'] as const
/** ISO/IEC 29115 level 1: a password, and tries are limited. */
export const PASSWORD_ACR = '1'

/** One text for an unknown user, a wrong password and a disabled user. */
const REFUSED = 'That user name and password do not match.'
/**
 * For one account from everywhere 60 at once and 40 an hour, which are 100 in any hour; for a browser that the account has
 * signed in with before, 20 and 20 of its own. Who is one too many is told at once: as many wait for others of their network as
 * may wait to be hashed.
 */
const GUESSES: ThrottleLimits = {
  ...LIMITS,
  everywhere: { failures: 60, recovery: 90 },
  marked: { failures: 20, recovery: 180 },
  waiting: 64,
}

/** What the page says instead, with its status. */
export interface RefusedSignIn {
  readonly username: string
  readonly text: string
  readonly status: number
  /** Until another try is looked at; null for at once. */
  readonly wait: Waiting | null
}

export type PasswordSignIn = (wire: Wire, call: BrowserCall) => Promise<Session | RefusedSignIn>

/**
 * Null when the password is not the user's, or there is nobody of this name who may sign in. Throws 429, and 503 when
 * too many ask at once.
 */
export type PasswordCheck = (
  username: string,
  password: string,
  request: FastifyRequest,
) => Promise<User | null>

/** Of each server, the one that the first of these places has taken: guesses count together. */
const throttles = new WeakMap<OAuth, Throttle>()

/** Wherever a password is asked for. */
export function createPasswordCheck({ oauth, browser }: FastifyInstance): PasswordCheck {
  const throttle = throttles.get(oauth) ?? oauth.throttle('user', GUESSES)
  throttles.set(oauth, throttle)
  return async (username, password, request) => {
    const mark = await browser.markOf(request, username)
    const attempt = await throttle.attempt(usernameKey(username), request.ip, mark)
    try {
      const user = await oauth.users.authenticate(username, password)
      if (user === null) await attempt.failed()
      else attempt.succeeded()
      return user
    } finally {
      attempt.abandoned()
    }
  }
}

/** What it makes reads `form#login`, and gives the new session, or what the page is to say instead. */
export function createPasswordSignIn(fastify: FastifyInstance): PasswordSignIn {
  const { browser } = fastify
  const parse = compileParameters(
    Type.Object({ username: Type.Optional(Type.String()), password: Type.Optional(Type.String()) }),
  )
  const authenticate = createPasswordCheck(fastify)

  return async (wire, call) => {
    const { username = '', password = '' } = parse(wire)
    try {
      const user = await authenticate(username, password, call.request)
      const session = user && (await browser.signIn(call, { user, amr: PASSWORD_AMR, acr: PASSWORD_ACR }))
      if (session !== null) return session
    } catch (error) {
      const { text, status, seconds, until } = waitFor(error, call)
      return { username, text, status, wait: { seconds, until } }
    }
    call.request.log.info('sign-in refused')
    return { username, text: REFUSED, status: 403, wait: null }
  }
}
