/**
 * Passwords: what may be one, how they are hashed, and comparing in the same time whether or not there is a hash.
 * Whose they are is for the user registry; how many may be hashed at once, for the queue.
 */
import { randomBytes } from 'node:crypto'
import { type Message, reason } from '../../protocol/message.ts'
import { createArgon2id, type Argon2id } from '../hashing/argon2id.ts'
import type { IsBreached } from './breached-passwords.ts'
import { isCommonPassword } from './common-passwords.ts'
import type { HashingQueue } from '../hashing/hashing-queue.ts'

export interface Passwords {
  /** Why this cannot be anybody's password, in words to follow "password"; undefined when it can. */
  problem(password: unknown): Message | undefined
  /** Characters that one has at least, of any kind. */
  readonly minLength: number
  isShort(password: string): boolean
  /** One of those that are used most (section 3.1.1.2, too): `COMMON` says so, to follow "password". */
  isCommon(password: string): Promise<boolean>
  /** One that has leaked from elsewhere (section 3.1.1.2, too): `BREACHED` says so, to follow "password". */
  isBreached: IsBreached
  /** The hash to store. */
  hash(password: string): Promise<string>
  /** Takes the same time for null, which nothing matches. */
  verify(password: string, hash: string | null): Promise<boolean>
  /** Whether a hash was made elsewhere, in a form that can be compared with here. */
  isImported(hash: string): boolean
  /** Whether a hash that was just found right should be replaced by one of today's form. */
  isOutdated(hash: string): boolean
}

/** A form of stored hashes. The first is the one in which new ones are made; others may be imported. */
export interface PasswordScheme {
  recognizes(hash: string): boolean
  /** `password` as it was typed: each scheme normalizes in its own way. */
  verify(hash: string, password: string): Promise<boolean>
}

/** Characters; what is longer is nobody's, and is not hashed. */
const MAX_LENGTH = 1024
export const COMMON = reason('must not be one of the most used')
export const BREACHED = reason('must not be one that is known from a leak elsewhere')

/** What an operator asks of new ones. */
export interface PasswordRules {
  readonly argon2id: Argon2id
  /** NIST SP 800-63B §3.1.1.2 asks for 8; its fourth revision advises 15. */
  readonly minLength: number
  readonly isBreached: IsBreached
}

const least = (): PasswordRules => ({
  argon2id: createArgon2id(),
  minLength: 8,
  isBreached: async () => false,
})

/** To follow "password". */
export function tooShort({ minLength }: Pick<Passwords, 'minLength'>): Message {
  return reason('must have {minLength} characters at least', { minLength })
}

/** RFC 8265 §4.2.2: one password however a keyboard composes its letters. Nothing is trimmed or folded. */
const normalize = (password: string): string => password.normalize('NFC')

/** For whom nobody chose one: 128 random bits, short enough to be typed. */
export function generatePassword(): string {
  return randomBytes(16).toString('base64url')
}

export function createPasswords(
  queue: HashingQueue,
  imported: readonly PasswordScheme[] = [],
  { argon2id, minLength, isBreached }: PasswordRules = least(),
): Passwords {
  const current: PasswordScheme = {
    recognizes: argon2id.recognizes,
    verify: async (hash, password) => argon2id.verify(hash, normalize(password)),
  }
  const schemes = [current, ...imported]
  return {
    problem(password) {
      if (typeof password !== 'string') return reason('must be a text')
      if (password === '') return reason('must not be empty')
      if (password.length > MAX_LENGTH)
        return reason('must have {max} characters at most', { max: MAX_LENGTH })
      // A form cannot carry these: nobody could ever sign in with it.
      if (password.includes('\0') || !password.isWellFormed())
        return reason('must not hold NUL or broken Unicode')
      return undefined
    },
    minLength,
    isShort: (password) => Array.from(normalize(password)).length < minLength,
    isCommon: isCommonPassword,
    isBreached,
    hash: async (password) => queue.run(async () => argon2id.hash(normalize(password))),
    async verify(password, hash) {
      if (password.length > MAX_LENGTH) return false
      // Made at the first comparison, whosever it is.
      const absent = await argon2id.absent()
      const stored = hash ?? absent
      const scheme = schemes.find((one) => one.recognizes(stored))
      return queue.run(async () =>
        scheme === undefined ? current.verify(absent, password) : scheme.verify(stored, password),
      )
    },
    isImported: (hash) => imported.some((one) => one.recognizes(hash)),
    isOutdated: (hash) => !current.recognizes(hash) || argon2id.isOutdated(hash),
  }
}
