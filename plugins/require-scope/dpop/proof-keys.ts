// The key that a proof names in its own header (RFC 9449 §4.2): public, fit for the algorithm, and known by its thumbprint
// (RFC 7638). Those whose proofs were good are kept, for the next proof mostly has the same.
import { hash } from 'node:crypto'
import { publicKeyOf, type VerificationKey } from '../verification-keys.ts'

export interface ProofKeys {
  /** Undefined for what is no public key, or none for signatures of `algorithm`. */
  read(jwk: unknown, algorithm: string): VerificationKey | undefined
  /** Remembers one with which a signature was good. */
  keep(key: VerificationKey): void
}

/** What every key of a type has, and its thumbprint is made of, in this order. */
const MEMBERS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['EC', ['crv', 'kty', 'x', 'y']],
  ['OKP', ['crv', 'kty', 'x']],
  ['RSA', ['e', 'kty', 'n']],
])
/** RFC 7518 §6.2.2, §6.3.2 and §6.4.1, and `priv` of key types to come. */
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']
/** Characters of an exponent: OpenSSL's time to verify grows with it, and nobody means more than 65537. */
const LONGEST_EXPONENT = 6
const CAPACITY = 1000

/** Its `kid` is the thumbprint. */
export function createProofKeys(): ProofKeys {
  const kept = new Map<string, VerificationKey>()

  return {
    read(jwk, algorithm) {
      const thumbprint = thumbprintOf(jwk)
      if (thumbprint === undefined) return undefined
      const key = publicKeyOf(thumbprint, jwk)
      if (key?.fits(algorithm) !== true) return undefined
      return kept.get(thumbprint) ?? key
    },
    keep(key) {
      kept.delete(key.kid)
      kept.set(key.kid, key)
      if (kept.size <= CAPACITY) return
      const [oldest] = kept.keys()
      if (oldest !== undefined) kept.delete(oldest)
    },
  }
}

function thumbprintOf(jwk: unknown): string | undefined {
  if (typeof jwk !== 'object' || jwk === null || Array.isArray(jwk)) return undefined
  const members = jwk as Readonly<Record<string, unknown>>
  const names = MEMBERS.get(members['kty'])
  if (names === undefined || PRIVATE.some((name) => Object.hasOwn(members, name))) return undefined
  const values = names.map((name) => members[name])
  if (!values.every((value) => typeof value === 'string' && /^[\w-]+$/.test(value))) return undefined
  if (members['kty'] === 'RSA' && String(members['e']).length > LONGEST_EXPONENT) return undefined
  return hash(
    'sha256',
    JSON.stringify(Object.fromEntries(names.map((name, at) => [name, values[at]]))),
    'base64url',
  )
}
