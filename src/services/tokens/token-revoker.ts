/** Ends tokens before their time: one token, or an Authorization with all that name it. */
import { statements as authorizations } from '../../store/authorizations.ts'
import { statements, storeRevocation } from '../../store/tokens.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { Revocations } from './revocations.ts'
import { endedOf } from './replays.ts'
import { parseOpaqueToken } from './opaque-tokens.ts'
import type { TokenVerifier } from './token-verifier.ts'

export interface TokenRevoker {
  /** Ends this access token alone; durable when it resolves. A token that is not ours is left to itself. */
  revokeToken(token: string): Promise<void>
  /**
   * Ends every token that names the Authorization. `cause` is for people who ask later. False where it had been
   * revoked, or there is none.
   */
  revokeAuthorization(authorizationId: string, cause: string): Promise<boolean>
}

export function createTokenRevoker(
  audit: AuditTrail,
  verifier: TokenVerifier,
  revocations: Revocations,
): TokenRevoker {
  return {
    async revokeToken(token) {
      const claims = await verifier.read(token)
      if (claims === null) return
      // The instant of issue may lie up to a second after `iat`, and the end with it.
      const end = new Date((claims.exp + 1) * 1000)
      const opaque = parseOpaqueToken(token)
      if (opaque === null && end.getTime() <= Date.now()) return
      await audit.transaction(async (query, note) => {
        if (opaque !== null) await query(statements.revokeAccessToken, [opaque.authorizationId, opaque.hash])
        // Also of an opaque one, for what was granted for it.
        if (end.getTime() > Date.now()) await storeRevocation(query, claims.jti, end)
        note({ type: 'token.revoked', client: claims.client_id, details: { jti: claims.jti } })
      })
      await revocations.announce(claims.jti, end)
    },
    async revokeAuthorization(authorizationId, cause) {
      if (authorizationId === '') throw new Error('revoking an Authorization needs its id')
      return audit.transaction(async (query, note) => {
        const [row] = await query(authorizations.revoke, [authorizationId, cause])
        if (row === undefined) return false
        const details = { authorization: authorizationId, cause, ...(await endedOf(query, row)) }
        note({ type: 'authorization.revoked', client: row.clientId, user: row.subject, details })
        return true
      })
    },
  }
}
