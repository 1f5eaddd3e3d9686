/**
 * Codes of six digits that come by mail: one at a time for each interaction, good for ten minutes, five tries and once, over all processes. No code is
 * stored, nor who it is for. It is made anew from the interaction, a number of its own and whose address it went to, under a secret of the server's; what is
 * stored says which number counts and how often it was tried, and each try is one guarded statement.
 */
import { createHmac, randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto'
import type { Artifacts } from '../../src/doors/artifacts.ts'
import type { User } from '../../src/doors/user.ts'
import { addressKey } from '../../src/protocol/mail-address.ts'
import { endedSince } from '../../src/services/users/user.ts'
import { verifiedAddressOf } from '../mail/verified-address-of.ts'
import type { OAuth } from '../oauth/index.ts'

/** A code that was asked for, as its browser carries it: sealed, and of one interaction. */
export interface Asked {
  /** As it was typed. */
  readonly email: string
  /** Tells codes of one interaction apart. */
  readonly nonce: string
}

/** What is stored of the one that counts. */
interface Counting {
  readonly nonce: string
  /** Keyed hash of the address. */
  readonly to: string
  /** Milliseconds since the epoch. */
  readonly sentAt: number
  readonly tries: number
  readonly spent?: {
    readonly by: string
    /** Milliseconds since the epoch. */
    readonly at: number
    /** How often it came once more. */
    readonly again?: number
  }
}

export interface Opened extends Asked {
  /** Milliseconds since the epoch. */
  readonly sentAt: number
  /** False where another request, such as the same form sent twice, has opened it: then the mail is its to send. */
  readonly isNew: boolean
  /** Seconds until the next one may be asked for. */
  readonly pause: number
}

/** `over`: it counts no more, whatever was typed. */
export type Verdict = { readonly is: 'right'; readonly user: User } | { readonly is: 'wrong' | 'over' }

export interface MailCodes {
  /** Throws where no SECRET_KEY opens the secret under which codes are made. */
  assertReady(): Promise<void>
  /** The code of the interaction `id` that was opened for this address a moment ago; null for none. */
  find(id: string, email: string): Promise<Opened | null>
  /** Opens one in the place of what the interaction had, unless `find` has one by now. */
  open(id: string, email: string): Promise<Opened>
  /** Lets the next one be opened at once: no mail was sent of this one. */
  close(id: string, asked: Asked): Promise<void>
  /** The digits that go to this user; null where they may not have them, or another code counts by now. */
  digitsFor(id: string, asked: Asked, user: User): Promise<string | null>
  /** Whether the digits are those that were mailed to `user`, whose address it is now: that is spent, or one try is. */
  check(id: string, asked: Asked, digits: string, user: User | null): Promise<Verdict>
  /** Whom these digits have signed in a moment ago, as by the first of a double click; null for nobody, which is a try. */
  findSpent(id: string, digits: string): Promise<{ readonly user: User; readonly nonce: string } | null>
}

/** Seconds. */
const LIFETIME = 600
/** Seconds before the next one: mails take a while, and the next one ends the one that is on its way. */
const PAUSE = 30
const TRIES = 5
/** Milliseconds: a double click comes at once. */
const TWICE_WITHIN = 10_000
/** Seconds: no interaction lasts longer. */
const LONGEST = 3600 + LIFETIME
/** Of codes. */
const RANGE = 1_000_000
const KIND = 'mail-code'

/** Milliseconds since the epoch. */
export function endOf({ sentAt }: Pick<Opened, 'sentAt'>): number {
  return sentAt + LIFETIME * 1000
}

export function createMailCodes(oauth: OAuth): MailCodes {
  const stored: Artifacts<Counting> = oauth.artifacts<Counting>(KIND, { lifetime: LONGEST })
  let secret: Promise<KeyObject> | undefined

  async function hashOf(...parts: readonly string[]): Promise<Buffer> {
    secret ??= oauth.secret(KIND)
    // A database that was away for a moment is asked again.
    secret.catch(() => (secret = undefined))
    return createHmac('sha256', await secret)
      .update(JSON.stringify(parts))
      .digest()
  }

  const addressed = async (email: string): Promise<string> =>
    (await hashOf('address', addressKey(email) ?? email)).toString('base64url')

  /** As many of 2^48 are each of a million, to four in a billion. */
  async function digitsOf(id: string, nonce: string, user: string, address: string): Promise<string> {
    const number = (await hashOf('code', id, nonce, user, address)).readUIntBE(0, 6)
    return String(number % RANGE).padStart(6, '0')
  }

  async function isOf(id: string, nonce: string, user: User | null, digits: string): Promise<boolean> {
    const address = user === null ? null : verifiedAddressOf(user)
    const expected = await digitsOf(id, nonce, user?.id ?? '', address ?? '')
    return timingSafeEqual(Buffer.from(digits), Buffer.from(expected))
  }

  /** Whether a code that was sent then may sign this user in; theirs alone ends with what ends all of theirs. */
  const isFor = (user: User, { sentAt }: Counting): boolean => !user.disabled && !endedSince(user, sentAt)

  const isOver = ({ nonce, tries, spent, ...at }: Counting, asked: Asked): boolean =>
    nonce !== asked.nonce || tries >= TRIES || spent !== undefined || endOf(at) <= Date.now()

  function openedBy({ nonce, sentAt }: Counting, email: string, isNew: boolean): Opened {
    const pause = Math.ceil((sentAt + PAUSE * 1000 - Date.now()) / 1000)
    return { email, nonce, sentAt, isNew, pause: Math.max(0, pause) }
  }

  async function findIn(counting: Counting | null, email: string): Promise<Opened | null> {
    if (counting === null || counting.spent !== undefined || counting.to !== (await addressed(email)))
      return null
    const opened = openedBy(counting, email, false)
    return opened.pause > 0 ? opened : null
  }

  const mailCodes: MailCodes = {
    assertReady: async () => void (await hashOf()),
    find: async (id, email) => findIn(await stored.get(id), email),

    async open(id, email) {
      const before = await stored.get(id)
      const found = await findIn(before, email)
      if (found !== null) return found
      const nonce = randomBytes(32).toString('base64url')
      const next: Counting = { nonce, to: await addressed(email), sentAt: Date.now(), tries: 0 }
      const isStored =
        before === null
          ? (await stored.put(next, { handle: id })) !== false
          : await stored.replace(id, before, next)
      // Another request was faster: this one looks at what that has left.
      return isStored ? openedBy(next, email, true) : mailCodes.open(id, email)
    },

    async close(id, { nonce }) {
      const counting = await stored.get(id)
      if (counting?.nonce === nonce) await stored.replace(id, counting, { ...counting, sentAt: 0 })
    },

    async digitsFor(id, asked, user) {
      const counting = await stored.get(id)
      const address = verifiedAddressOf(user)
      if (counting === null || address === null || isOver(counting, asked) || !isFor(user, counting))
        return null
      return digitsOf(id, asked.nonce, user.id, address)
    },

    async check(id, asked, digits, user) {
      const counting = await stored.get(id)
      if (counting === null || isOver(counting, asked)) return { is: 'over' }
      // Of nobody it takes as long.
      const isRight = await isOf(id, asked.nonce, user, digits)
      const taken: Counting | null =
        isRight && user !== null && isFor(user, counting)
          ? { ...counting, spent: { by: user.id, at: Date.now() } }
          : null
      const next = taken ?? { ...counting, tries: counting.tries + 1 }
      if (!(await stored.replace(id, counting, next))) return mailCodes.check(id, asked, digits, user)
      return taken === null ? { is: 'wrong' } : { is: 'right', user: user! }
    },

    async findSpent(id, digits) {
      const counting = await stored.get(id)
      if (counting?.spent === undefined || counting.tries >= TRIES) return null
      const { by, at, again = 0 } = counting.spent
      if (at + TWICE_WITHIN < Date.now()) return null
      const user = await oauth.findUser(by)
      const isAgain = user !== null && isFor(user, counting) && (await isOf(id, counting.nonce, user, digits))
      const next: Counting = isAgain
        ? { ...counting, spent: { by, at, again: again + 1 } }
        : { ...counting, tries: counting.tries + 1 }
      if (!(await stored.replace(id, counting, next))) return mailCodes.findSpent(id, digits)
      return isAgain ? { user, nonce: counting.nonce } : null
    },
  }
  return mailCodes
}
