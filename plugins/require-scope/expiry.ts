// The instants of a token, to the millisecond where its `jti` tells them: the rule of the authorization server itself.

const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** The members of a token's claims that say when; `iat` and `exp` in seconds. */
export interface Instants {
  readonly jti?: string | undefined
  readonly iat: number
  readonly exp: number
}

/**
 * The millisecond at which a token was issued, when its `jti` is a UUIDv7 (RFC 9562 §5.7) of the second that `iat` names;
 * undefined when only the second is known.
 */
export function issueInstant({ jti, iat }: Omit<Instants, 'exp'>): number | undefined {
  const match = jti === undefined ? null : UUID_V7.exec(jti)
  if (match === null) return undefined
  const milliseconds = Number.parseInt(`${match[1]}${match[2]}`, 16)
  return Math.floor(milliseconds / 1000) === iat ? milliseconds : undefined
}

/**
 * When a token was issued, and from when it is no longer good, in milliseconds since 1970. Seconds alone would make a token
 * of one second die up to a second early, so a `jti` that carries the instant of issue counts from there; any other token
 * ends at `exp`.
 */
export function instantsOf({ jti, iat, exp }: Instants): {
  readonly issuedAt: number
  readonly expiresAt: number
} {
  const issuedAt = issueInstant({ jti, iat }) ?? Math.round(iat * 1000)
  return { issuedAt, expiresAt: issuedAt + Math.round((exp - iat) * 1000) }
}
