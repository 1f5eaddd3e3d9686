/** The hashes by which an ID token names what was issued with it: `at_hash` and `c_hash`. */
import { hash } from 'node:crypto'

/**
 * OpenID Connect Core §3.1.3.6 and §3.3.2.11: the left half of the hash that belongs to the ID token's `algorithm`,
 * base64url. EdDSA and ML-DSA name none: it is the one that the signature itself uses, SHA-512 with Ed25519 (RFC 8032 §5.1) and
 * 512 bits of SHAKE256 with ML-DSA (FIPS 204), as clients have it. Throws for an algorithm without one.
 */
export function tokenHash(token: string, algorithm: string): string {
  const digest = /^ML-DSA-(?:44|65|87)$/.test(algorithm)
    ? hash('shake256', token, { outputEncoding: 'buffer', outputLength: 64 })
    : hash(hashName(algorithm), token, 'buffer')
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

function hashName(algorithm: string): string {
  if (algorithm === 'EdDSA') return 'sha512'
  const [, bits] = /^(?:RS|PS|ES|HS)(256|384|512)$/.exec(algorithm) ?? []
  if (bits === undefined) throw new Error(`${algorithm} names no hash`)
  return `sha${bits}`
}
