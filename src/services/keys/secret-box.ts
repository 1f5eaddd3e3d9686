/**
 * What SECRET_KEY is for: sealing values that we must read again, and keyed hashes of values that we only
 * compare. Each result names the key it was made with, so that keys can be replaced one after the other.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto'
import { ConfigError } from '../../settings/setting-value.ts'

/**
 * No key of SECRET_KEY opens what was sealed: a former one left the list too early. Its message is the sentence for the operator;
 * people get a refusal, and no failure (`src/http/errors.ts`).
 */
export class UnreadableError extends ConfigError {}

export interface SecretBox {
  /** AES-256-GCM under the first key; `context` (a kid, say) is authenticated, so a value cannot be moved. */
  seal(plaintext: string | Uint8Array, context: string): string
  /** `what` it is names it for the operator, in the plural or not. Throws `UnreadableError` when no key fits or the value was changed. */
  open(sealed: string, context: string, what?: string): string
  /** The same, of what was no text. */
  openBytes(sealed: string, context: string): Buffer
  /** Null in the place of an error: for what is made anew, or begun again, where it cannot be read. */
  tryOpen(sealed: string, context: string): string | null
  /** HMAC-SHA-256 under the first key. */
  hash(value: string): string
  /** Under every key: what a stored hash may be equal to. */
  hashes(value: string): string[]
  /** Compares in constant time, under the key that the stored hash names; false when that key is gone. */
  matches(value: string, hash: string): boolean
  /** The first 96 bits of an HMAC-SHA-256 under the first key, by which we know again what we made. */
  tag(bytes: Uint8Array): Buffer
  /** Whether it is the tag of `bytes` under any key; compares in constant time. */
  isTag(tag: Uint8Array, bytes: Uint8Array): boolean
  /** Whether a sealed value or a hash was made with the first key. */
  isCurrent(made: string): boolean
}

interface Derived {
  id: string
  encryption: KeyObject
  mac: KeyObject
  tag: KeyObject
}

/** Bytes of a tag. */
export const TAG_BYTES = 12
/** Of a sealed value, before and behind what was encrypted (NIST SP 800-38D §8.2.1, §5.2.1.2). */
const IV_BYTES = 12
const AUTH_TAG_BYTES = 16

/** `secretKeys` is the SECRET_KEY list, the first used for new values; `misfit` the sentence where it was not set as one. */
export function createSecretBox(
  secretKeys: readonly string[],
  misfit = (what: string) =>
    `SECRET_KEY: ${what} cannot be decrypted with it; put the key it was made with into the list: SECRET_KEY takes several, separated by commas, the new one first. A development start made one in DATA_DIR/secret-key.`,
): SecretBox {
  const keys = secretKeys.map(derive)
  const first = keys[0]
  if (first === undefined) throw new Error('a secret box needs a key')
  const byId = new Map(keys.map((key) => [key.id, key]))
  const digest = (key: Derived, value: string): Buffer => createHmac('sha256', key.mac).update(value).digest()
  const hash = (key: Derived, value: string): string =>
    `${key.id}.${digest(key, value).toString('base64url')}`
  const tagUnder = (key: Derived, bytes: Uint8Array): Buffer =>
    createHmac('sha256', key.tag).update(bytes).digest().subarray(0, TAG_BYTES)

  function decrypt(sealed: string, context: string): Buffer {
    const [id, body] = split(sealed)
    const key = byId.get(id)
    if (key === undefined) throw new Error('it was encrypted under a SECRET_KEY that is not in the list')
    const bytes = Buffer.from(body, 'base64url')
    // Decoding overlooks characters: one value has one spelling.
    if (bytes.toString('base64url') !== body || bytes.length < IV_BYTES + AUTH_TAG_BYTES)
      throw new Error('it is not as it was sealed')
    const iv = bytes.subarray(0, IV_BYTES)
    // A shorter tag would be guessed sooner.
    const decipher = createDecipheriv('aes-256-gcm', key.encryption, iv, { authTagLength: AUTH_TAG_BYTES })
    decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-AUTH_TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -AUTH_TAG_BYTES)), decipher.final()])
  }

  function openBytes(sealed: string, context: string, what = 'a value that is stored'): Buffer {
    try {
      return decrypt(sealed, context)
    } catch (cause) {
      throw new UnreadableError(misfit(what), { cause })
    }
  }

  const open = (sealed: string, context: string, what?: string): string =>
    openBytes(sealed, context, what).toString()

  return {
    seal(plaintext, context) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', first.encryption, iv).setAAD(Buffer.from(context))
      const bytes = typeof plaintext === 'string' ? Buffer.from(plaintext) : plaintext
      const sealed = Buffer.concat([iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
      return `${first.id}.${sealed.toString('base64url')}`
    },
    open,
    openBytes,
    tryOpen(sealed, context) {
      try {
        return open(sealed, context)
      } catch {
        return null
      }
    },
    hash: (value) => hash(first, value),
    hashes: (value) => keys.map((key) => hash(key, value)),
    matches(value, stored) {
      const [id, body] = split(stored)
      const key = byId.get(id)
      const expected = Buffer.from(body, 'base64url')
      const actual = digest(key ?? first, value)
      return expected.length === actual.length && timingSafeEqual(expected, actual) && key !== undefined
    },
    tag: (bytes) => tagUnder(first, bytes),
    isTag: (tag, bytes) =>
      tag.length === TAG_BYTES && keys.some((key) => timingSafeEqual(tagUnder(key, bytes), tag)),
    isCurrent: (made) => split(made)[0] === first.id,
  }
}

function derive(secretKey: string): Derived {
  const part = (info: string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', secretKey, 'latchkey', info, length))
  return {
    id: part('id', 6).toString('base64url'),
    encryption: createSecretKey(part('encryption', 32)),
    mac: createSecretKey(part('mac', 32)),
    tag: createSecretKey(part('tag', 32)),
  }
}

function split(made: string): [id: string, body: string] {
  const dot = made.indexOf('.')
  return [made.slice(0, dot), made.slice(dot + 1)]
}
