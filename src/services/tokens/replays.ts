/**
 * A code or refresh token that is used again: what the first use gave ends, since nobody can tell which of the two was
 * the thief (RFC 9700 §2.1.1, §4.14.2).
 */
import type { Authorization } from '../../doors/facts.ts'
import { statements } from '../../store/authorizations.ts'
import type { AuditTrail } from '../audit/audit.ts'

export type EndReplayed = (authorization: Pick<Authorization, 'id' | 'clientId' | 'subject'>) => Promise<void>

/** Why an Authorization ended, for people who ask later. */
const REPLAYED = 'its code or refresh token was used again'

export function createReplayEnding(audit: AuditTrail): EndReplayed {
  return async ({ id, clientId, subject }) =>
    audit.transaction(async (query, note) => {
      await query(statements.revoke, [id, REPLAYED])
      note({
        type: 'authorization.replayed',
        client: clientId,
        user: subject,
        details: { authorization: id! },
      })
    })
}
