/** What users have allowed clients: remembered per user, client, scopes and resources. */
import type { ApprovalRequest } from '../doors.ts'
import { statements } from '../store/consents.ts'
import type { Database } from '../store/database.ts'
import type { Audit } from './audit.ts'

export interface RememberedConsent {
  readonly scopes: ReadonlySet<string>
  readonly resources: ReadonlySet<string>
}

export interface Consents {
  find(userId: string, clientId: string): Promise<RememberedConsent>
  /** Adds what was allowed now to what was allowed before. */
  remember(userId: string, request: ApprovalRequest): Promise<void>
}

/** @internal */
export function createConsents(database: Database, audit: Audit): Consents {
  return {
    async find(userId, clientId) {
      const [row] = await database.query(statements.find, [userId, clientId])
      return { scopes: new Set(row?.scopes), resources: new Set(row?.resources) }
    },
    async remember(userId, { client, scopes, resources }) {
      const allowed = { scopes: [...scopes], resources: [...resources] }
      await audit.transaction(async (query, note) => {
        await query(statements.grant, [userId, client.clientId, allowed.scopes, allowed.resources])
        note({ type: 'consent.given', user: userId, client: client.clientId, details: allowed })
      })
    },
  }
}
