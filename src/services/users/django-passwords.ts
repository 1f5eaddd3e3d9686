/**
 * Password hashes that come from Django, as its `auth.user` holds them: which can be read here, and how each is
 * compared. What Django hashed is what was typed, in UTF-8 and without normalizing. New ones are never made in
 * these forms: a hash that was found right is replaced behind the sign-in.
 */
import argon2 from 'argon2'
import { pbkdf2, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { PasswordScheme } from './passwords.ts'

/** Django 6 makes 1,200,000; far more would let whoever wrote a file keep our threads busy. */
const MAX_ITERATIONS = 5_000_000
/** KiB; Django's own are 100 MiB, two passes, eight lanes. */
const MAX_MEMORY = 262_144
const MAX_PASSES = 16
const MAX_LANES = 16
/** SHA-256 gives so many bytes. */
const DIGEST_LENGTH = 32

const derive = promisify(pbkdf2)

interface Pbkdf2 {
  iterations: number
  salt: string
  digest: Buffer
}

/** `pbkdf2_sha256$iterations$salt$digest`; undefined for what is not of this form, or asks for too much work. */
function parsePbkdf2(hash: string): Pbkdf2 | undefined {
  const [, count, salt, encoded] =
    /^pbkdf2_sha256\$([1-9]\d{0,6})\$([^$\p{C}]{1,128})\$([A-Za-z0-9+/]{43}=)$/u.exec(hash) ?? []
  if (count === undefined || salt === undefined || encoded === undefined) return undefined
  const iterations = Number(count)
  const digest = Buffer.from(encoded, 'base64')
  return iterations > MAX_ITERATIONS || digest.length !== DIGEST_LENGTH
    ? undefined
    : { iterations, salt, digest }
}

const pbkdf2Sha256: PasswordScheme = {
  recognizes: (hash) => parsePbkdf2(hash) !== undefined,
  async verify(hash, password) {
    const parsed = parsePbkdf2(hash)
    if (parsed === undefined) return false
    // In the thread pool; how many at once is for the hashing queue.
    const derived = await derive(password, parsed.salt, parsed.iterations, DIGEST_LENGTH, 'sha256')
    return timingSafeEqual(derived, parsed.digest)
  },
}

const PREFIX = 'argon2'
const ARGON2ID =
  /^argon2\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,172}$/

/** `argon2` before the standard form. It is kept apart from ours: there the password is normalized. */
const argon2id: PasswordScheme = {
  recognizes(hash) {
    const [memory = 0, passes = 0, lanes = 0] = ARGON2ID.exec(hash)?.slice(1).map(Number) ?? []
    const isBounded = memory <= MAX_MEMORY && passes <= MAX_PASSES && lanes <= MAX_LANES
    // RFC 9106 section 3.1: at least 8 KiB for each lane; the library throws at less.
    return isBounded && passes >= 1 && lanes >= 1 && memory >= 8 * lanes
  },
  verify: async (hash, password) => argon2.verify(hash.slice(PREFIX.length), password),
}

export const djangoPasswords: readonly PasswordScheme[] = [pbkdf2Sha256, argon2id]

/** Django writes this and random characters for who shall not sign in by a password. */
export const isUnusable = (hash: string): boolean => hash === '' || hash.startsWith('!')
