/**
 * Ends what belongs to a user, or to one session of theirs: the sessions, the codes that are on their way, and the
 * Authorizations with all that name them. Nothing here says who may ask for it.
 */
import { Authorization } from '../entities/authorization.ts'
import { AuthorizationCode } from '../entities/authorization-code.ts'
import { Session } from '../entities/session.ts'
import type { Query } from './database.ts'
import { statement } from './statement.ts'

/** In each, $1 is the user's id and $2 the `sid` of the one session, or null for all there is. */
export const statements = {
  deleteSessions: statement('sessions-end', (table) => {
    const session = table(Session)
    return `delete from ${session.name} where ${session.column('user')} = $1
      and ($2::text is null or ${session.column('sid')}::text = $2)`
  }),
  /** Those that are not spent: of a spent one there is always an Authorization, which it goes with. */
  deleteCodes: statement('authorization-codes-end', (table) => {
    const code = table(AuthorizationCode)
    return `delete from ${code.name}
      where ${code.column('subject')} = $1 and ${code.column('spentAt')} is null
        and ($2::text is null or ${code.column('granted')}->'authentication'->>'sid' = $2)`
  }),
  /** $3 is the cause. What has `offline_access` outlives its session (OpenID Connect Core §11). */
  revokeAuthorizations: statement('authorizations-end', (table) => {
    const authorization = table(Authorization)
    return `update ${authorization.name}
      set ${authorization.column('revokedAt')} = now(), ${authorization.column('revocationCause')} = $3
      where ${authorization.column('subject')} = $1 and ${authorization.column('revokedAt')} is null
        and ($2::text is null or (${authorization.column('authentication')}->>'sid' = $2
          and not 'offline_access' = any(${authorization.column('scopes')})))`
  }),
}

/**
 * Ends everything of the user, or of one session, in the transaction of `query`. `cause` is for people who ask later.
 * Codes come before Authorizations: an exchange under way has then either stored its Authorization, which is seen
 * here, or finds its code gone. For the same reason a user's own row must have changed before.
 */
export async function endEverything(
  query: Query,
  userId: string,
  cause: string,
  sid: string | null = null,
): Promise<void> {
  await query(statements.deleteSessions, [userId, sid])
  await query(statements.deleteCodes, [userId, sid])
  await query(statements.revokeAuthorizations, [userId, sid, cause])
}
