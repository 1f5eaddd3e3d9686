/** Who is registered here as somebody else, a trusted issuer or an upstream, is not this server: it would vouch for itself, or sign people in by itself. */
import { metadataError } from './errors.ts'
import { reason } from './message.ts'

/** Throws `invalid_client_metadata` that names the issuer. */
export function assertForeign(issuer: string, own: string): void {
  if (isSame(issuer, own))
    throw metadataError('issuer', reason('is this server itself: name that of somebody else'))
}

/** Also with a slash at the end, or written in another way. */
export function isSame(one: string, other: string): boolean {
  return withoutSlashes(one) === withoutSlashes(other)
}

function withoutSlashes(issuer: string): string {
  return (URL.parse(issuer)?.href ?? issuer).replace(/\/+$/, '')
}
