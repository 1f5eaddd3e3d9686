/**
 * A code or refresh token that is used again: what the first use gave ends, since nobody can tell which of the two was
 * the thief (RFC 9700 §2.1.1, §4.14.2).
 */
import type { Authorization } from '../../doors/facts.ts'
import type { EndedClient } from '../../events.ts'
import { statements } from '../../store/authorizations.ts'
import type { AuditTrail } from '../audit/audit.ts'

export type EndReplayed = (authorization: Pick<Authorization, 'id' | 'clientId' | 'subject'>) => Promise<void>

/** Why an Authorization ended, for people who ask later. */
const REPLAYED = 'its code or refresh token was used again'

/** For the event that tells of it; of one that had ended before, nothing. */
export function endedOf(row: { clientId: string; sid: string | null } | undefined): {
  clients: readonly EndedClient[]
  sid?: string
} {
  if (row === undefined) return { clients: [] }
  const { clientId: client, sid } = row
  return sid === null ? { clients: [{ client, sids: [] }] } : { sid, clients: [{ client, sids: [sid] }] }
}

export function createReplayEnding(audit: AuditTrail): EndReplayed {
  return async ({ id, clientId, subject }) =>
    audit.transaction(async (query, note) => {
      const [ended] = await query(statements.revoke, [id, REPLAYED])
      const details = { authorization: id!, ...endedOf(ended) }
      note({ type: 'authorization.replayed', client: clientId, user: subject, details })
    })
}
