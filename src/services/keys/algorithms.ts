/** What the server can sign with, each algorithm with keys of its own. */
import { generateKeyPairSync } from 'node:crypto'

/** RFC 9964, where this Node and its OpenSSL have it. */
const ML_DSA = ['ML-DSA-44', 'ML-DSA-65'].filter(isAvailable)

/** `alg` values of RFC 7518 §3.1, RFC 8037 §3.1 and RFC 9964 §3. */
export const ALGORITHMS: readonly string[] = ['RS256', 'ES256', 'PS256', 'EdDSA', 'ES384', 'ES512', ...ML_DSA]

/** By making a pair, in half a millisecond: nothing else tells without a warning. */
function isAvailable(algorithm: string): boolean {
  try {
    generateKeyPairSync(algorithm.toLowerCase() as 'ml-dsa-44')
    return true
  } catch {
    return false
  }
}
