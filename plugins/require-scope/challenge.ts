// The WWW-Authenticate header (RFC 6750 §3, RFC 9728 §5.1).
import { BEARER } from './schemes.ts'

/** What a challenge may say; absent members are left out of it. */
export interface Challenge {
  readonly realm: string
  readonly error?: string | undefined
  readonly error_description?: string | undefined
  /** All the scopes that the operation needs. */
  readonly scope?: string | undefined
  /** The URL of the resource's metadata. */
  readonly resource_metadata?: string | undefined
  /** What a scheme has of its own. */
  readonly [parameter: string]: string | undefined
}

/** One challenge. Values are escaped, so a description from elsewhere can neither split nor break the header. */
export function formatChallenge({ realm, ...parameters }: Challenge, scheme = BEARER): string {
  const parts = Object.entries({ realm, ...parameters })
    .map(([name, value]) => (value ? `${name}=${quote(value)}` : undefined))
    .filter((part) => part !== undefined)
  return `${scheme} ${parts.join(', ')}`
}

// Outside printable ASCII a header is not portable; line breaks would split it.
function quote(value: string): string {
  return `"${value.replace(/[^\x20-\x7E]/g, '?').replace(/["\\]/g, '\\$&')}"`
}
