/**
 * Opaque access tokens: handles like codes and refresh tokens, so that whoever holds one knows where it is stored. What
 * one stands for is in the row that its hash finds.
 */
import { createHandle, hashOf, parseHandle, type Handle } from '../../protocol/handle.ts'
import { createLoneUuid, isLoneUuid, NIL } from '../../protocol/uuid.ts'

/** They begin like this, so that scanners find a leaked one. */
const PREFIX = 'lka_'
/** Those of an earlier version, which name nothing: their rows stand under no Authorization. */
const BARE = new RegExp(`^${PREFIX}[A-Za-z0-9_-]{43}$`)

export interface OpaqueHandle extends Handle {
  /** That no Authorization stands where it is stored: then none needs to be looked for. */
  readonly alone: boolean
}

/** A new one of this Authorization, or of none. */
export function createOpaqueToken(authorizationId: string = createLoneUuid()): string {
  return createHandle(authorizationId, PREFIX)
}

/** Null for what cannot be one of ours. */
export function parseOpaqueToken(token: string): OpaqueHandle | null {
  if (BARE.test(token)) return { authorizationId: NIL, hash: hashOf(token), alone: true }
  const handle = parseHandle(token, PREFIX)
  return handle && { ...handle, alone: isLoneUuid(handle.authorizationId) }
}
