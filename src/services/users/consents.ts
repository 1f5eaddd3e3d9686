/** What users have allowed clients: remembered per user, client, scopes and resources. */
import type { ApprovalRequest } from '../../doors.ts'
import {
  statements as authorizationStatements,
  type ListedAuthorizationRow,
} from '../../store/authorizations.ts'
import { statements, withdraw, type ConnectedRow } from '../../store/consents.ts'
import type { Database } from '../../store/database.ts'
import { isUuid } from '../../protocol/uuid.ts'
import type { AuditTrail } from '../audit/audit.ts'

export interface RememberedConsent {
  readonly scopes: ReadonlySet<string>
  readonly resources: ReadonlySet<string>
}

export interface Consents {
  find(userId: string, clientId: string): Promise<RememberedConsent>
  /** Adds what was allowed now to what was allowed before. */
  remember(userId: string, request: ApprovalRequest): Promise<void>
  /**
   * The clients that this user has allowed something, or that hold an Authorization of theirs (one that is trusted asks
   * nobody), in the order of their ids: at most `limit` (100) behind the client `after`.
   */
  list(userId: string, page?: { after?: string; limit?: number }): Promise<ConnectedClient[]>
  /**
   * Forgets what the user allowed the client, and ends every code and Authorization that came of it. Signed tokens that
   * others verify by themselves live to their end. False where there was nothing.
   */
  withdraw(userId: string, clientId: string): Promise<boolean>
}

/** What a client has of a user; instants are milliseconds since the epoch. */
export interface ConnectedClient {
  readonly clientId: string
  /** Allowed or held, of all Authorizations. */
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  /** The first that is known. */
  readonly since: number
  /** When a code or refresh token was last exchanged, or something allowed. */
  readonly usedAt: number
  /** Whether it can get access tokens without the user, by a refresh token. */
  readonly refreshable: boolean
}

/** @internal */
export function createConsents(database: Database, audit: AuditTrail): Consents {
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
    async list(userId, { after = '', limit = 100 } = {}) {
      if (!isUuid(userId)) return []
      const rows = await database.query(statements.connected, [userId, after, limit])
      const ids = rows.map(({ clientId }) => clientId)
      const held = await database.query(authorizationStatements.listByClients, [userId, ids])
      const heldBy = Map.groupBy(held, ({ clientId }) => clientId)
      return rows.map((row) => toConnected(row, heldBy.get(row.clientId) ?? []))
    },
    async withdraw(userId, clientId) {
      if (!isUuid(userId)) return false
      return audit.transaction(async (query, note) => {
        const was = await withdraw(query, userId, clientId)
        if (was) note({ type: 'consent.withdrawn', user: userId, client: clientId, details: {} })
        return was
      })
    },
  }
}

function toConnected(
  { clientId, scopes, resources, grantedAt }: ConnectedRow,
  held: readonly ListedAuthorizationRow[],
): ConnectedClient {
  const granted = grantedAt === null ? [] : [grantedAt.getTime()]
  return {
    clientId,
    scopes: united(scopes ?? [], ...held.map((one) => one.scopes)),
    resources: united(resources ?? [], ...held.map((one) => one.resources)),
    since: Math.min(...granted, ...held.map(({ createdAt }) => createdAt.getTime())),
    usedAt: Math.max(...granted, ...held.map(({ usedAt, createdAt }) => (usedAt ?? createdAt).getTime())),
    refreshable: held.some(({ refreshable }) => refreshable),
  }
}

function united(...lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())]
}
