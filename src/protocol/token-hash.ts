/** The hashes by which an ID token names what was issued with it: `at_hash` and `c_hash`. */
import { hash } from 'node:crypto'

/**
 * OpenID Connect Core §3.1.3.6 and §3.3.2.11: the left half of the hash that belongs to the ID token's `algorithm`,
 * base64url. EdDSA names no hash; with Ed25519 it is SHA-512, the one that the signature itself uses (RFC 8032 §5.1).
 * Throws for an algorithm without one.
 */
export function tokenHash(token: string, algorithm: string): string {
  const digest = hash(hashName(algorithm), token, 'buffer')
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

function hashName(algorithm: string): string {
  if (algorithm === 'EdDSA') return 'sha512'
  const [, bits] = /^(?:RS|PS|ES|HS)(256|384|512)$/.exec(algorithm) ?? []
  if (bits === undefined) throw new Error(`${algorithm} names no hash`)
  return `sha${bits}`
}
