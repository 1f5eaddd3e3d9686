/**
 * Whether a JWT is one that we signed: the key by its `kid`, bound to its algorithm and the time in which it signed, the
 * type, the issuer, and one spelling of it alone. Revocation, audience and what else a kind of token needs are for who asks.
 */
import { compactVerify, errors } from 'jose'
import { issueInstant } from '../../../plugins/require-scope/expiry.ts'
import type { Bag } from '../../protocol/bag.ts'
import type { KeyRing } from '../keys/key-ring.ts'

export interface OwnJwtVerifier {
  /**
   * The claims of a JWT of ours with exactly this `typ` (undefined: none), expired or not; null for all others. One
   * without `iat` is nobody's any more once its key has a successor that signs.
   */
  read(jwt: string, typ: string | undefined): Promise<OwnJwt | null>
  /**
   * The claims of an ID token of ours, or null. `ignoreExpiry` accepts one that has expired, as an `id_token_hint`
   * may be (OpenID Connect Core §3.1.2.1, RP-Initiated Logout §2); one whose key is gone is not verifiable any more.
   */
  verifyIdToken(jwt: string, options?: { ignoreExpiry?: boolean }): Promise<IdTokenClaims | null>
}

export interface OwnJwt {
  readonly kid: string
  /** Milliseconds since the epoch; infinite where it does not say. */
  readonly issuedAt: number
  readonly claims: Bag
}

/** The claims that every ID token has (OpenID Connect Core §2). */
export interface IdTokenClaims extends Bag {
  readonly iss: string
  readonly sub: string
  readonly aud: string | readonly string[]
  readonly iat: number
  readonly exp: number
}

const MAX_LENGTH = 16_384

export function createOwnJwtVerifier(keyRing: KeyRing, issuer: string): OwnJwtVerifier {
  async function read(jwt: string, typ: string | undefined): Promise<OwnJwt | null> {
    if (jwt.length > MAX_LENGTH) return null
    try {
      const { payload, protectedHeader } = await compactVerify(jwt, ({ kid, alg }) => {
        const key = kid === undefined ? undefined : keyRing.find(kid)
        if (key === undefined || key.algorithm !== alg) throw new errors.JWKSNoMatchingKey()
        return key.publicKey
      })
      const { kid = '' } = protectedHeader
      // base64url can be written in several ways (RFC 4648 §3.5); a token of ours only in one.
      if (protectedHeader.typ !== typ || !isCanonical(jwt)) return null
      const claims = JSON.parse(Buffer.from(payload).toString()) as Bag | null
      if (typeof claims !== 'object' || claims === null) return null
      const issuedAt = issueInstantOf(claims)
      if (claims['iss'] !== issuer || !keyRing.mayHaveSigned(kid, issuedAt)) return null
      return { kid, issuedAt, claims: Object.freeze(claims) }
    } catch (error) {
      // What our key has signed may hold no JSON: a nested JWT, say.
      if (error instanceof errors.JOSEError || error instanceof SyntaxError) return null
      throw error
    }
  }

  return {
    read,
    async verifyIdToken(jwt, { ignoreExpiry = false } = {}) {
      const claims = (await read(jwt, undefined))?.claims
      if (claims === undefined || !isIdTokenClaims(claims)) return null
      return ignoreExpiry || Date.now() < claims.exp * 1000 ? claims : null
    },
  }
}

function issueInstantOf({ iat, jti }: Bag): number {
  if (!Number.isSafeInteger(iat)) return Infinity
  const seconds = iat as number
  return issueInstant({ iat: seconds, jti: typeof jti === 'string' ? jti : undefined }) ?? seconds * 1000
}

function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
}

function isIdTokenClaims(claims: Bag): claims is IdTokenClaims {
  const { sub, aud, iat, exp } = claims
  return (
    typeof sub === 'string' &&
    [aud].flat().every((one) => typeof one === 'string') &&
    Number.isSafeInteger(iat) &&
    Number.isSafeInteger(exp)
  )
}
