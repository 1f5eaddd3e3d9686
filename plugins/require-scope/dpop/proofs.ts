// DPoP proofs (RFC 9449 §4): whether the one that comes with a request is good, by every point of §4.3, and used for the first
// time. What its key is bound to is for who asks.
import { hash } from 'node:crypto'
import { compactVerify } from 'jose'
import { BearerError } from '../bearer-error.ts'
import { decodeJwt, type UnverifiedJwt } from '../jwt.ts'
import type { ConstrainedReply, ConstrainedRequest } from '../sender-constraint.ts'
import type { VerificationKey } from '../verification-keys.ts'
import { isSameAddress } from './address.ts'
import type { Nonces } from './nonces.ts'
import { createProofKeys } from './proof-keys.ts'
import type { Once } from './seen-proofs.ts'

/** Asymmetric ones; RSASSA-PKCS1-v1_5 is not among them (FAPI 2.0 Security Profile §5.4.1). */
export const DPOP_ALGORITHMS: readonly string[] = [
  'ES256',
  'ES384',
  'ES512',
  'Ed25519',
  'EdDSA',
  'PS256',
  'PS384',
  'PS512',
]

/** Characters. */
const LONGEST = { proof: 8192, jti: 256, nonce: 256 }
/** Seconds: how old a proof may be, and how far ahead the clock of who made it. */
const AGE = 60
const AHEAD = 30

export interface ProofsOptions {
  /** Under which requests are sent here, as `URL.origin` writes them. */
  readonly origins: readonly string[]
  readonly algorithms: readonly string[]
  readonly nonces: Nonces | undefined
  readonly once: Once
  /** Milliseconds since 1970. */
  readonly now: () => number
}

export interface Wanted {
  /** The access token that comes with it (`ath`). */
  readonly token?: string
  /** The thumbprint of the key that it must be of. */
  readonly thumbprint?: string
  /** Whether it needs a nonce of ours. */
  readonly nonce: boolean
  /** The only algorithms, of those that are taken at all; default all of them. */
  readonly algorithms?: readonly string[]
}

export interface Proofs {
  /**
   * The thumbprint of the key that the request proves to be its sender's. Tells the next nonce with the answer where one is
   * due.
   * @throws {BearerError} `invalid_dpop_proof`, `use_dpop_nonce`, or `invalid_token` where it is of another key
   */
  assert(request: ConstrainedRequest, reply: ConstrainedReply, wanted: Wanted): Promise<string>
}

export function createProofs({ origins, algorithms, nonces, once, now }: ProofsOptions): Proofs {
  const keys = createProofKeys()

  function keyOf({ header, algorithm }: UnverifiedJwt, taken: readonly string[]): VerificationKey {
    if (header['typ'] !== 'dpop+jwt') throw refused('has another typ than dpop+jwt')
    if (!taken.includes(algorithm)) throw refused('is signed by an algorithm that is not accepted')
    const key = keys.read(header['jwk'], algorithm)
    if (key === undefined) throw refused('has no public key of its algorithm in jwk')
    return key
  }

  /** `exp` and `nbf` are no part of a proof, and hold where they are there (RFC 7519 §4.1). */
  function assertTime({ iat, exp, nbf }: UnverifiedJwt['claims']): void {
    const time = now() / 1000
    if (typeof iat !== 'number') throw refused('has no iat')
    if (iat > time + AHEAD) throw refused('is from the future')
    if (iat < time - AGE) throw refused('is too old')
    if (exp !== undefined && !(typeof exp === 'number' && exp > time - AHEAD)) throw refused('has expired')
    if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= time + AHEAD))
      throw refused('is not good yet')
  }

  /** Of this request, and of no other. */
  function assertFor(
    { method, originalUrl }: ConstrainedRequest,
    token: string | undefined,
    { htm, htu, ath }: UnverifiedJwt['claims'],
  ): void {
    if (htm !== method) throw refused('is for another method')
    if (!isSameAddress(htu, origins, originalUrl)) throw refused('is for another address')
    if (token !== undefined && ath !== hash('sha256', token, 'base64url'))
      throw refused('is for another access token')
  }

  function assertNonce(nonce: unknown, reply: ConstrainedReply, isNeeded: boolean): void {
    if (nonces === undefined || (nonce === undefined && !isNeeded)) return
    const judged = nonces.judge(nonce)
    if (judged === 'good') return
    const next = { 'dpop-nonce': nonces.current() }
    if (judged === 'bad')
      throw new BearerError('use_dpop_nonce', 'The DPoP proof needs a nonce of this server', {
        headers: next,
      })
    reply.header('dpop-nonce', next['dpop-nonce'])
  }

  return {
    async assert(request, reply, { token, thumbprint, nonce: isNeeded, algorithms: taken = algorithms }) {
      const proof = request.headers['dpop']
      if (typeof proof !== 'string') throw refused('is missing')
      const decoded = decode(proof)
      const key = keyOf(decoded, taken)
      const { claims } = decoded
      const { jti, iat, nonce } = claims
      if (!isText(jti, LONGEST.jti)) throw refused('has no jti, or one that is too long')
      if (nonce !== undefined && !isText(nonce, LONGEST.nonce)) throw refused('has a malformed nonce')
      assertTime(claims)
      assertFor(request, token, claims)
      await assertSignature(proof, decoded, key)
      keys.keep(key)
      assertNonce(nonce, reply, isNeeded)
      if (thumbprint !== undefined && thumbprint !== key.kid)
        throw new BearerError('invalid_token', 'The access token is bound to another key')
      const until = new Date((Math.ceil(iat as number) + AGE + 1) * 1000)
      if (!(await once(`${key.kid} ${jti}`, until))) throw refused('was used before')
      return key.kid
    },
  }
}

/** One header, which Node would join with a second one by a comma, and no JWT has a comma. */
function decode(proof: string): UnverifiedJwt {
  try {
    return decodeJwt(proof, LONGEST.proof)
  } catch (cause) {
    throw refused('is not one signed JWT, or is too long', cause)
  }
}

async function assertSignature(
  proof: string,
  { algorithm }: UnverifiedJwt,
  key: VerificationKey,
): Promise<void> {
  try {
    await compactVerify(proof, await key.import(algorithm), { algorithms: [algorithm] })
  } catch (cause) {
    throw refused('is not signed by its key', cause)
  }
}

function isText(value: unknown, longest: number): value is string {
  return typeof value === 'string' && value !== '' && value.length <= longest
}

function refused(what: string, cause?: unknown): BearerError {
  return new BearerError('invalid_dpop_proof', `The DPoP proof ${what}`, { cause })
}
