/**
 * What is refused because more came than can be done in time: the error, how many there were, and one line in the log
 * when it begins and one when it is over. When it is too much is for those who keep the line.
 */
import type { FastifyBaseLogger } from 'fastify'
import { OAuthError } from '../protocol/errors.ts'

/** Where requests wait, and what who finds it too long is told. */
const LINES = {
  process: 'more requests came than can be answered; try again',
  database: 'too many requests wait for the database; try again',
  passwords: 'too many passwords are being checked; try again',
  keys: 'the keys that sign do not answer in time; try again',
  outbound: 'too much is asked of others at once; try again',
} as const
export type Line = keyof typeof LINES

export interface Shedding {
  /** That a request was answered so. */
  note(line: Line): void
  /** How many were, since the start of the process. */
  readonly counts: ReadonlyMap<Line, number>
}

/** Milliseconds without a refusal, after which it is over. */
const OVER = 10_000
/** Seconds: whoever is sent away at once should not come back at once. */
const COME_BACK = 3

const refused = new WeakMap<OAuthError, Line>()

/** To be thrown before anything of the request has been done. */
export function shed(line: Line): OAuthError {
  const retryAfter = 1 + Math.floor(Math.random() * COME_BACK)
  const error = new OAuthError('temporarily_unavailable', LINES[line], { retryAfter })
  refused.set(error, line)
  return error
}

/** Answers and counts as one of `shed` does, whatever else it is. */
export function asShed<E extends OAuthError>(error: E, line: Line): E {
  const { code, message, status, headers } = shed(line)
  refused.set(error, line)
  return Object.assign(error, { code, message, status, headers })
}

/** The line that was too long; undefined for every other error. */
export function lineOf(error: OAuthError): Line | undefined {
  return refused.get(error)
}

export function createShedding(log: FastifyBaseLogger): Shedding {
  const counts = new Map<Line, number>()
  for (const line of Object.keys(LINES) as Line[]) counts.set(line, 0)
  let now = 0
  let timer: NodeJS.Timeout | undefined

  function end(): void {
    log.warn({ refused: now }, 'no longer overloaded')
    now = 0
    timer = undefined
  }

  return {
    counts,
    note(line) {
      counts.set(line, counts.get(line)! + 1)
      if (now++ === 0) log.warn({ line }, 'overloaded: requests are answered with 503 until it is over')
      timer = timer?.refresh() ?? setTimeout(end, OVER).unref()
    },
  }
}
