/**
 * Authenticator apps (RFC 6238): codes of six digits, each for thirty seconds, by SHA-1, as every app knows them. A user has one; its
 * secret is encrypted at rest, and each code is good once, over all processes.
 */
import type { NewEvent } from '../../src/events.ts'
import { sixDigits } from '../../src/protocol/typed-code.ts'
import { UnreadableError } from '../../src/services/keys/secret-box.ts'
import type { Kernel } from '../../src/services/kernel.ts'

export interface SetUp {
  /** Milliseconds since the epoch; null where no SECRET_KEY fits it any more, so that it can only be removed. */
  readonly since: number | null
}

export interface Authenticators {
  /** From memory. */
  has(userId: string): Promise<boolean>
  /** Null for who has none. */
  find(userId: string): Promise<SetUp | null>
  /** The secret that pages show who sets one up: the same under one `key` until it is used, or an hour has passed. */
  offer(key: string, userId: string): Promise<string>
  /** Takes what was offered, where the code is its. False where it is not, and for who has one already. */
  add(key: string, userId: string, code: string): Promise<boolean>
  /** Whether it was set up by this code, under this key, and has not been used since: the form was sent twice. */
  isRepeated(key: string, userId: string, code: string): Promise<boolean>
  /** Whether the code is right and was not used: it is from here on. */
  spend(userId: string, code: string): Promise<boolean>
  remove(userId: string): Promise<boolean>
}

const AUTHENTICATOR = 'authenticator'
/** What an app is given for it, as text or picture. */
const TERMS = { algorithm: 'SHA1', digits: 6, period: 30 } as const

/** A user has one of these. */
const ID = 'totp'
/** RFC 4226 §4, R6. */
const SECRET_BYTES = 20
/** Seconds. */
const OFFERED_FOR = 3600
/** Steps before and after now whose codes are taken: a clock is seldom right. */
const WINDOW = 1
/** Codes that are remembered, for a clock of ours that went back. */
const MOST_USED = 10
/** Of two at once, who loses looks again. */
const TRIES = 3

interface Stored {
  readonly secret: string
  /** The steps of codes that were used, the newest last. */
  readonly used: readonly number[]
  /** The key under which it was offered; only before it is used. */
  readonly offeredBy?: string
}

export function createAuthenticators({ users, artifacts, box }: Kernel): Authenticators {
  const records = users.records<Stored>(AUTHENTICATOR, { sealed: true, factor: true })
  const offers = artifacts<{ sealed: string }>('authenticator-offer', {
    lifetime: OFFERED_FOR,
    ofUsers: true,
  })
  const contextOf = (key: string, userId: string): string => `authenticator offer\0${userId}\0${key}`
  const told = (type: 'user.factor_added' | 'user.factor_removed', user: string): NewEvent => ({
    type,
    user,
    details: { factor: AUTHENTICATOR },
  })

  async function offered(key: string, userId: string): Promise<string | null> {
    const found = await offers.get(key)
    return found === null ? null : box.open(found.sealed, contextOf(key, userId))
  }

  async function readable(userId: string): Promise<Stored | null> {
    try {
      return (await records.get(userId, ID))?.value ?? null
    } catch (error) {
      if (error instanceof UnreadableError) return null
      throw error
    }
  }

  return {
    has: records.has,
    async find(userId) {
      try {
        const record = await records.get(userId, ID)
        return record === null ? null : { since: record.createdAt }
      } catch (error) {
        if (error instanceof UnreadableError) return { since: null }
        throw error
      }
    },
    async offer(key, userId) {
      const known = await offered(key, userId)
      if (known !== null) return known
      const { Secret } = await import('otpauth')
      const { base32 } = new Secret({ size: SECRET_BYTES })
      await offers.put(
        { sealed: box.seal(base32, contextOf(key, userId)) },
        { handle: key, owner: userId, most: 10 },
      )
      // Of the same page in two tabs, the first one's.
      return (await offered(key, userId)) ?? base32
    },
    async add(key, userId, code) {
      const secret = await offered(key, userId)
      const step = secret === null ? null : await stepOf(secret, code)
      if (secret === null || step === null) return false
      const stored = { secret, used: [step], offeredBy: key }
      const added = await records.put(userId, ID, stored, told('user.factor_added', userId))
      // Somebody who removes it and begins anew gets another one.
      await offers.delete(key)
      return added
    },
    async isRepeated(key, userId, code) {
      const stored = await readable(userId)
      if (stored?.offeredBy !== key) return false
      const step = await stepOf(stored.secret, code)
      return step !== null && stored.used.includes(step)
    },
    async spend(userId, code) {
      for (let tries = 0; tries < TRIES; tries++) {
        const record = await records.get(userId, ID)
        if (record === null) return false
        const { secret, used } = record.value
        const step = await stepOf(secret, code)
        if (step === null || !isUnused(step, used)) return false
        const next = { secret, used: [...used, step].slice(-MOST_USED) }
        if (await records.replace(userId, record, next)) return true
      }
      return false
    },
    remove: async (userId) => records.delete(userId, ID, told('user.factor_removed', userId)),
  }
}

/** What apps take from the picture (Google Authenticator's key URI format). */
export async function addressOf(secret: string, issuer: string, username: string): Promise<string> {
  const { Secret, TOTP } = await import('otpauth')
  return new TOTP({ ...TERMS, issuer, label: username, secret: Secret.fromBase32(secret) }).toString()
}

/** The step of time whose code it is; null for none of now. */
async function stepOf(secret: string, code: string): Promise<number | null> {
  const token = sixDigits(code)
  if (token === null) return null
  const { Secret, TOTP } = await import('otpauth')
  const now = Date.now()
  const delta = TOTP.validate({
    ...TERMS,
    token,
    secret: Secret.fromBase32(secret),
    timestamp: now,
    window: WINDOW,
  })
  return delta === null ? null : stepAt(now) + delta
}

/** Later than all that were used (RFC 6238 §5.2); where those are of a time to come, our clock has gone back, and one of them it is not. */
function isUnused(step: number, used: readonly number[]): boolean {
  const latest = Math.max(...used)
  const wentBack = latest > stepAt(Date.now()) + WINDOW
  return step > latest || (wentBack && !used.includes(step))
}

function stepAt(time: number): number {
  return Math.floor(time / 1000 / TERMS.period)
}
