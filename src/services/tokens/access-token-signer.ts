/** How access tokens are signed: ES256 under the type of RFC 9068 §2.1. The signature itself is `jwt-signer.ts`'s. */
import type { Bag } from '../../protocol/bag.ts'
import type { SignJwt } from './jwt-signer.ts'

/** Returns the compact JWT of RFC 9068 over `claims`, as they are. */
export type SignAccessToken = (claims: Bag) => Promise<string> | string

export function createAccessTokenSigner(sign: SignJwt): SignAccessToken {
  return async (claims) => sign(claims, { algorithm: 'ES256', typ: 'at+jwt' })
}
