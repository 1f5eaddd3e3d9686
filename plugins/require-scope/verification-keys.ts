// The public keys of an issuer's JWKS (RFC 7517), each ready to verify with. A key that this package cannot use is passed
// over, so that one odd key does not take the others with it.
import { importJWK } from 'jose'
import type { CryptoKey, JWK } from 'jose'

interface KeyType {
  readonly kty: string
  readonly crv: string | undefined
}

const EDWARDS: KeyType = { kty: 'OKP', crv: 'Ed25519' }
const RSA: KeyType = { kty: 'RSA', crv: undefined }

/** Signature algorithms and the keys that they take: asymmetric ones only, so no shared secret can ever be a key. */
const KEY_TYPES: ReadonlyMap<string, KeyType> = new Map<string, KeyType>([
  ['ES256', { kty: 'EC', crv: 'P-256' }],
  ['ES384', { kty: 'EC', crv: 'P-384' }],
  ['ES512', { kty: 'EC', crv: 'P-521' }],
  ['EdDSA', EDWARDS],
  ['Ed25519', EDWARDS],
  ['PS256', RSA],
  ['PS384', RSA],
  ['PS512', RSA],
  ['RS256', RSA],
  ['RS384', RSA],
  ['RS512', RSA],
])

/** Every algorithm that an issuer may be allowed to use. */
export const ALGORITHMS: readonly string[] = [...KEY_TYPES.keys()]

// 2048 to 8192 bits in base64url: shorter is weak (RFC 7518 §3.3), longer makes each check a burden.
const RSA_MODULUS = { shortest: 342, longest: 1366 }

export class VerificationKey {
  readonly kid: string
  readonly #jwk: JWK
  readonly #algorithm: string | undefined
  readonly #imported = new Map<string, Promise<CryptoKey>>()

  constructor(kid: string, jwk: JWK, algorithm: string | undefined) {
    this.kid = kid
    this.#jwk = jwk
    this.#algorithm = algorithm
  }

  /** Whether this key may have made a signature of this algorithm. */
  fits(algorithm: string): boolean {
    const type = KEY_TYPES.get(algorithm)
    if (type === undefined || (this.#algorithm ?? algorithm) !== algorithm) return false
    return type.kty === this.#jwk.kty && type.crv === this.#jwk.crv
  }

  /** Throws when the key material is broken. */
  import(algorithm: string): Promise<CryptoKey> {
    const known = this.#imported.get(algorithm)
    if (known !== undefined) return known
    const imported = importJWK(this.#jwk, algorithm) as Promise<CryptoKey>
    this.#imported.set(algorithm, imported)
    return imported
  }

  equals(other: VerificationKey): boolean {
    const [mine, theirs] = [this, other].map((key) => JSON.stringify([key.kid, key.#algorithm, key.#jwk]))
    return mine === theirs
  }
}

/** The usable keys of a JWKS document; those without a `kid` are not, for a token names its key. */
export async function readKeySet(document: unknown): Promise<VerificationKey[]> {
  const { keys } = (document ?? {}) as { keys?: unknown }
  if (!Array.isArray(keys)) return []
  const read = await Promise.all(keys.map((jwk: unknown) => readKey(jwk)))
  return read.filter((key) => key !== undefined)
}

async function readKey(value: unknown): Promise<VerificationKey | undefined> {
  const { kid } = (value ?? {}) as JWK
  const key = typeof kid === 'string' && kid !== '' ? publicKeyOf(kid, value) : undefined
  const algorithm = ALGORITHMS.find((name) => key?.fits(name))
  if (key === undefined || algorithm === undefined) return undefined
  try {
    await key.import(algorithm)
    return key
  } catch {
    return undefined
  }
}

/** The public part of a JWK, not imported yet: should it hold a private key, none of it enters this process's key store. */
export function publicKeyOf(kid: string, jwk: unknown): VerificationKey | undefined {
  const { kty, crv, x, y, n, e, alg, use, key_ops } = (jwk ?? {}) as JWK
  if ((use ?? 'sig') !== 'sig') return undefined
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify'))) return undefined
  if (kty === 'RSA' && !hasFairModulus(n)) return undefined
  const publicMembers = Object.entries({ kty, crv, x, y, n, e }).filter(([, member]) => member !== undefined)
  return new VerificationKey(kid, Object.fromEntries(publicMembers), alg)
}

function hasFairModulus(n: unknown): boolean {
  return typeof n === 'string' && n.length >= RSA_MODULUS.shortest && n.length <= RSA_MODULUS.longest
}
