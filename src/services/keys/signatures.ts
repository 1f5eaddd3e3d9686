/** Signatures in the form of JWS (RFC 7518 §3.3–§3.5, RFC 8037 §3.1) over bytes, and whether one is good: both in the thread pool. */
import { constants, createPublicKey, sign, verify, type KeyObject } from 'node:crypto'
import type { JWK } from 'jose'
import { fits } from '../../protocol/jwk-set.ts'

const EC = { dsaEncoding: 'ieee-p1363' } as const
const PSS = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
} as const

type Form = readonly [hash: string | null, options: object]

/** By `alg`: the hash, where it is not one of its own, and the form. */
const FORMS: ReadonlyMap<string, Form> = new Map<string, Form>([
  ['RS256', ['sha256', {}]],
  ['PS256', ['sha256', PSS]],
  ['ES256', ['sha256', EC]],
  ['ES384', ['sha384', EC]],
  ['ES512', ['sha512', EC]],
  ['EdDSA', [null, {}]],
  ['ML-DSA-44', [null, {}]],
  ['ML-DSA-65', [null, {}]],
])

function formOf(algorithm: string): Form {
  const form = FORMS.get(algorithm)
  if (form === undefined) throw new Error(`${algorithm} is not an algorithm of ours`)
  return form
}

export async function signBytes(algorithm: string, key: KeyObject, input: Uint8Array): Promise<Buffer> {
  const [hash, options] = formOf(algorithm)
  return new Promise((resolve, reject) => {
    sign(hash, input, { key, ...options }, (error, signature) => {
      if (error === null) resolve(signature)
      else reject(error)
    })
  })
}

export async function isSignature(
  algorithm: string,
  key: KeyObject,
  input: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const [hash, options] = formOf(algorithm)
  return new Promise((resolve, reject) => {
    verify(hash, input, { key, ...options }, signature, (error, good) => {
      if (error === null) resolve(good)
      else reject(error)
    })
  })
}

/** What a store gave as public, where it is of the algorithm's kind and strong enough. Throws. */
export function publicKeyFor(algorithm: string, jwk: JWK): KeyObject {
  const mlDsa = jwk.kty === 'AKP' && jwk.alg === algorithm
  if (!mlDsa && !fits({ alg: undefined, use: undefined, jwk }, algorithm))
    throw new Error(`it gave a public key that is not for ${algorithm}`)
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  const { modulusLength = 2048 } = key.asymmetricKeyDetails ?? {}
  if (modulusLength < 2048) throw new Error('it gave an RSA key of fewer than 2048 bits')
  return key
}
