/** Opaque access tokens: what one looks like. What it stands for is in the row that its hash finds. */
import { hash, randomBytes } from 'node:crypto'
import { parseHandle } from '../../protocol/handle.ts'

/** They begin like this, so that scanners find a leaked one. */
const PREFIX = 'lka_'
const BARE = new RegExp(`^${PREFIX}[A-Za-z0-9_-]{43}$`)

export function createOpaqueToken(): string {
  return PREFIX + randomBytes(32).toString('base64url')
}

/** SHA-256 of the token, base64url: 256 random bits need no slower hash. Null for what cannot be one of ours. */
export function hashOfOpaque(token: string): string | null {
  // The next version puts the id of the Authorization in front: it is read here already, while both are at work.
  return BARE.test(token) ? hash('sha256', token, 'base64url') : (parseHandle(token, PREFIX)?.hash ?? null)
}
