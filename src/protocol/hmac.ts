/** The JWS algorithms of shared secrets (RFC 7518 §3.2): a secret keys one where it is no shorter than what that makes. */

const BYTES: Readonly<Record<string, number>> = { HS256: 32, HS384: 48, HS512: 64 }

export const HMAC_ALGORITHMS: readonly string[] = Object.keys(BYTES)

/** How many bytes a secret must have for this algorithm; for one that is none of these, as many as for the shortest. */
export function hmacKeyBytes(algorithm: unknown): number {
  return (typeof algorithm === 'string' ? BYTES[algorithm] : undefined) ?? 32
}
