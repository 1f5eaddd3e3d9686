/**
 * Who may not go on yet: after too many failures (429), or since too many passwords are being hashed (503). Their form comes
 * again, with what they typed but for passwords, and says how long; the answer has the status and the headers that it has
 * everywhere.
 */
import type { BrowserCall } from '../doors/interaction.ts'
import { type Message, message } from '../protocol/message.ts'
import { OAuthError } from '../protocol/errors.ts'
import { lineOf } from '../services/shedding.ts'
import { logFailure } from './errors.ts'

/** How long somebody has to wait. */
export interface Waiting {
  /** As `Retry-After` says. */
  readonly seconds: number
  readonly until: Date
}

export interface Wait extends Waiting {
  readonly status: number
  /** Why. */
  readonly text: Message
  /** Why, and what to do. */
  readonly advice: Message
}

const TOO_OFTEN = message('There were too many tries.')
const CROWDED = message('Too many people are signing in at this moment.')

/** Logs the error and sets its headers. Throws every other one as it is. */
export function waitFor(error: unknown, { request, reply }: BrowserCall): Wait {
  const throttled = error instanceof OAuthError && error.status === 429
  if (!(error instanceof OAuthError) || (!throttled && lineOf(error) === undefined)) throw error
  logFailure(error, request)
  reply.headers(error.headers)
  const seconds = Number(error.headers['retry-after'] ?? 1)
  const text = throttled ? TOO_OFTEN : CROWDED
  const advice = message(
    '{why} Please wait {seconds, plural, one {# second} other {# seconds}}, and then try again.',
    { why: text, seconds },
  )
  return { status: error.status, seconds, until: new Date(Date.now() + seconds * 1000), text, advice }
}
