/**
 * Codes and refresh tokens: 256 random bits behind the id of their Authorization, so that whoever holds one knows,
 * before any read, where it is stored. Only the hash of a handle is ever stored.
 */
import { hash, randomBytes } from 'node:crypto'

export interface Handle {
  readonly authorizationId: string
  /** SHA-256, base64url: 256 random bits need no slower hash. */
  readonly hash: string
}

const ID_BYTES = 16
const FORM = /^[A-Za-z0-9_-]{64}$/

/** A new handle of the Authorization (a UUID), after `prefix`, by which scanners find a leaked one. */
export function createHandle(authorizationId: string, prefix = ''): string {
  const id = Buffer.from(authorizationId.replaceAll('-', ''), 'hex')
  return prefix + Buffer.concat([id, randomBytes(32)]).toString('base64url')
}

/** Null for what cannot be a handle of ours. */
export function parseHandle(text: string, prefix = ''): Handle | null {
  if (!text.startsWith(prefix) || !FORM.test(text.slice(prefix.length))) return null
  const hex = Buffer.from(text.slice(prefix.length), 'base64url').toString('hex', 0, ID_BYTES)
  return {
    authorizationId: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    hash: hash('sha256', text, 'base64url'),
  }
}

/** As `parseHandle`, for one that we made. */
export function readHandle(text: string, prefix = ''): Handle {
  const handle = parseHandle(text, prefix)
  if (handle === null) throw new TypeError('this is no handle of ours')
  return handle
}
