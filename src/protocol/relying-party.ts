/** Who the server is to browsers and authenticators that make passkeys (Web Authentication Level 3, §4 and §13.4.9). */
import { isIP } from 'node:net'

export interface RelyingParty {
  /** The RP ID: the issuer's host. What was made for it is good nowhere else. */
  readonly id: string
  /** The one origin whose pages may ask: the port counts, a path does not. */
  readonly origin: string
  /** For people, where their browser asks whose passkey to make. */
  readonly name: string
}

/** Null where browsers make none: at an IP address, and in plain http elsewhere than at localhost. */
export function relyingPartyOf(issuer: string, name: string): RelyingParty | null {
  const { protocol, hostname, origin } = new URL(issuer)
  const isAddress = hostname.startsWith('[') || isIP(hostname) > 0
  if (isAddress || (protocol !== 'https:' && hostname !== 'localhost')) return null
  return { id: hostname, origin, name }
}
