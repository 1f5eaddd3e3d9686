/**
 * A code or refresh token that is used again: what the first use gave ends, since nobody can tell which of the two was
 * the thief (RFC 9700 §2.1.1, §4.14.2).
 */
import type { Authorization } from '../../doors/facts.ts'
import type { EndedClient } from '../../events.ts'
import { type RevokedRow, statements } from '../../store/authorizations.ts'
import { holdersOf } from '../../store/holders.ts'
import type { Query } from '../../store/statement.ts'
import type { AuditTrail } from '../audit/audit.ts'

export type EndReplayed = (authorization: Pick<Authorization, 'id' | 'clientId' | 'subject'>) => Promise<void>

/** Why an Authorization ended, for people who ask later. */
const REPLAYED = 'its code or refresh token was used again'

/** For the event that tells of it; of one that had ended before, nothing. */
export async function endedOf(
  query: Query,
  row: RevokedRow | undefined,
): Promise<{ clients: readonly EndedClient[]; sid?: string }> {
  if (row === undefined) return { clients: [] }
  const { clientId: client, sid, since } = row
  const clients = await holdersOf(query, [{ client, sid, since }])
  return sid === null ? { clients } : { sid, clients }
}

export function createReplayEnding(audit: AuditTrail): EndReplayed {
  return async ({ id, clientId, subject }) =>
    audit.transaction(async (query, note) => {
      const [ended] = await query(statements.revoke, [id, REPLAYED])
      const details = { authorization: id!, ...(await endedOf(query, ended)) }
      note({ type: 'authorization.replayed', client: clientId, user: subject, details })
    })
}
