/**
 * Codes and opaque access tokens: 256 random bits behind the id of their Authorization, so that whoever holds one knows,
 * before any read, where it is stored. Only the hash of a handle is ever stored.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import { fillRandomly } from './random.ts'

export interface Handle {
  readonly authorizationId: string
  /** SHA-256, base64url: 256 random bits need no slower hash. */
  readonly hash: string
}

const ID_BYTES = 16
const SECRET_BYTES = 32
const FORM = /^[A-Za-z0-9_-]{64}$/
/** The characters that hold the 16 bytes of the id; the last has 4 bits to spare. */
const ID_LENGTH = 22

/** A new handle of the Authorization (a UUID), after `prefix`, by which scanners find a leaked one. */
export function createHandle(authorizationId: string, prefix = ''): string {
  const bytes = Buffer.allocUnsafe(ID_BYTES + SECRET_BYTES)
  bytes.write(authorizationId.replaceAll('-', ''), 'hex')
  return prefix + fillRandomly(bytes, ID_BYTES).toString('base64url')
}

/** Null for what cannot be a handle of ours. */
export function parseHandle(text: string, prefix = ''): Handle | null {
  if (!text.startsWith(prefix) || !FORM.test(text.slice(prefix.length))) return null
  return { authorizationId: authorizationIdOf(text, prefix), hash: hashOf(text) }
}

/** The id in a handle that we made. */
export function authorizationIdOf(text: string, prefix = ''): string {
  const id = text.slice(prefix.length, prefix.length + ID_LENGTH)
  const hex = Buffer.from(id, 'base64url').toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}

/** What is stored of a handle, or of any other secret that we made of 256 random bits. */
export function hashOf(text: string): string {
  return hash('sha256', text, 'base64url')
}

/** Compares two of them in constant time. */
export function isSameHash(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
