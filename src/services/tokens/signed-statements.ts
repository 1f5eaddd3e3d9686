/** JWTs that plugins say in the server's name, of types of their own: a logout token, a security event, a signed answer. */
import type { Bag } from '../../protocol/bag.ts'
import type { SignJwt } from './jwt-signer.ts'

/**
 * The compact JWT over `claims` and `iss`, signed with the current key of `algorithm` (default `RS256`). `typ` tells it from
 * everything else (RFC 8725 §3.11): access tokens and ID tokens are made by `oauth.issue` alone. Throws `TypeError`.
 */
export type SignStatement = (
  claims: Bag,
  options: { readonly typ: string; readonly algorithm?: string },
) => Promise<string>

/** What else would be taken for it, in any spelling (RFC 7515 §4.1.9). */
const OURS = /^(?:application\/)?(?:at\+jwt|jwt|jose|)$/i

/** @internal */
export function createSignStatement(sign: SignJwt, issuer: string): SignStatement {
  return async (claims, { typ, algorithm = 'RS256' }) => {
    if (OURS.test(typ))
      throw new TypeError(`a JWT of the type ${typ || 'none'} is for the server alone to sign`)
    return sign({ ...claims, iss: issuer }, { typ, algorithm })
  }
}
