/** Ends tokens before their time: one token, or an Authorization with all that name it. */
import type { Database } from '../store/database.ts'
import { statements as authorizations } from '../store/authorizations.ts'
import { statements } from '../store/tokens.ts'
import { hashOpaque } from './issuance.ts'
import type { Revocations } from './revocations.ts'
import { OPAQUE_PREFIX } from './token-issuer.ts'
import type { TokenVerifier } from './token-verifier.ts'

export interface TokenRevoker {
  /** Ends this access token alone; durable when it resolves. A token that is not ours is left to itself. */
  revokeToken(token: string): Promise<void>
  /** Ends every token that names the Authorization. `cause` is for people who ask later. */
  revokeAuthorization(authorizationId: string, cause: string): Promise<void>
}

export function createTokenRevoker(
  database: Database,
  verifier: TokenVerifier,
  revocations: Revocations,
): TokenRevoker {
  return {
    async revokeToken(token) {
      const claims = await verifier.read(token)
      if (claims === null) return
      // The instant of issue may lie up to a second after `iat`, and the end with it.
      const end = new Date((claims.exp + 1) * 1000)
      if (token.startsWith(OPAQUE_PREFIX))
        await database.query(statements.revokeAccessToken, [hashOpaque(token)])
      else if (end.getTime() > Date.now()) await revocations.revoke(claims.jti, end)
    },
    async revokeAuthorization(authorizationId, cause) {
      if (authorizationId === '') throw new Error('revoking an Authorization needs its id')
      await database.query(authorizations.revoke, [authorizationId, cause])
    },
  }
}
