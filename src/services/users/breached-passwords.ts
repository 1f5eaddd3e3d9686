/**
 * Passwords that have leaked from elsewhere, by the range service of Have I Been Pwned: it is told the first five characters of a SHA-1 hash, and
 * answers with the rest of all that it knows of (k-anonymity), so it learns of no password. Where it does not answer, nobody is kept from
 * a new one.
 */
import { hash } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Fetch } from '../../doors/outbound.ts'

/** Whether a password is known to have leaked; false where that cannot be found out in time. */
export type IsBreached = (password: string) => Promise<boolean>

export interface BreachedPasswordsOptions {
  /** `off`, `on` for the public service, or the base URL of another. */
  readonly setting: string
  readonly fetch: Fetch
  readonly log: FastifyBaseLogger
}

const PUBLIC = 'https://api.pwnedpasswords.com'
const PREFIX = 5
/** Bytes of a range. It knows of two thousand million passwords, some 75,000 bytes for each prefix, and of more each year. */
const MOST_BYTES = 524_288
/** Milliseconds: somebody waits for their form. */
const PATIENCE = 2000

/** @internal */
export function createIsBreached({ setting, fetch, log }: BreachedPasswordsOptions): IsBreached {
  if (setting === 'off') return async () => false
  const base = setting === 'on' ? PUBLIC : setting.replace(/\/$/, '')

  /** The answers are padded, so that their length tells nobody what was asked. */
  async function rangeOf(prefix: string): Promise<string> {
    const headers = { 'add-padding': 'true' }
    const response = await fetch(`${base}/range/${prefix}`, { headers, maxBytes: MOST_BYTES })
    if (response.status !== 200) throw new Error(`it answers ${response.status}`)
    return response.text()
  }

  return async (password) => {
    const hashed = hash('sha1', password.normalize('NFC'), 'hex').toUpperCase()
    try {
      const range = await inTime(rangeOf(hashed.slice(0, PREFIX)))
      return countIn(range, hashed.slice(PREFIX)) > 0
    } catch (error) {
      log.warn({ err: error }, 'whether a new password has leaked could not be found out; it is taken')
      return false
    }
  }
}

/** Of the lines `SUFFIX:COUNT`; those that fill an answer up have the count 0. */
function countIn(range: string, suffix: string): number {
  const line = range.split('\n').find((one) => one.toUpperCase().startsWith(`${suffix}:`))
  return line === undefined ? 0 : Number.parseInt(line.slice(suffix.length + 1), 10)
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('it takes too long')), PATIENCE)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
