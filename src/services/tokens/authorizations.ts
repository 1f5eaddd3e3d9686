/** Authorizations as people look at them and end them. */
import { statements, type ListedAuthorizationRow } from '../../store/authorizations.ts'
import type { Database } from '../../store/database.ts'
import type { Statement } from '../../store/statement.ts'
import { isUuid, NIL } from '../../protocol/uuid.ts'
import type { TokenRevoker } from './token-revoker.ts'

/** One that was not revoked; instants are milliseconds since the epoch. */
export interface AuthorizationInformation {
  readonly id: string
  readonly clientId: string
  readonly userId: string
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly createdAt: number
  /** When its refresh token was got, which is the last use; null where it has none. */
  readonly refreshedAt: number | null
  /** Whether that refresh token is good now. */
  readonly refreshable: boolean
  /** Whether it began with a key of the client (DPoP, a certificate), so that what is stolen of it is good for nobody. */
  readonly bound: boolean
  /** Whether it was granted for something else (a token that was exchanged, an assertion), and ends with that. */
  readonly derived: boolean
}

export interface AuthorizationPage {
  readonly authorizations: readonly AuthorizationInformation[]
  /** For `after`, to go on; null at the end. */
  readonly next: string | null
}

interface PageWanted {
  after?: string | undefined
  /** 50 by default. */
  limit?: number
}

export interface Authorizations {
  /** By client, the oldest first. */
  listByUser(userId: string, page?: PageWanted): Promise<AuthorizationPage>
  /** What a session of this `sid` gave, by client, the oldest first; of one that lasts. */
  listBySession(sid: string, page?: PageWanted): Promise<AuthorizationPage>
  /** The oldest first. */
  listByClient(clientId: string, page?: PageWanted): Promise<AuthorizationPage>
  /**
   * Ends every token that names it; signed ones that others verify by themselves live to their end. False where it had
   * been revoked, or there is none.
   */
  revoke(id: string): Promise<boolean>
  /** The id of the user whose it is; null for a client's own, and where there is none. */
  ownerOf(id: string): Promise<string | null>
}

/** @internal */
export function createAuthorizations(database: Database, revoker: TokenRevoker): Authorizations {
  async function page(
    statement: Statement<ListedAuthorizationRow>,
    whose: string,
    { after = NIL, limit = 50 }: PageWanted = {},
  ): Promise<AuthorizationPage> {
    const rows = await database.query(statement, [whose, isUuid(after) ? after : NIL, limit + 1])
    const authorizations = rows.slice(0, limit).map(toInformation)
    return { authorizations, next: rows.length > limit ? (authorizations.at(-1)?.id ?? null) : null }
  }

  return {
    listByUser: async (userId, wanted) => page(statements.listByUser, userId, wanted),
    listBySession: async (sid, wanted) =>
      isUuid(sid) ? page(statements.listBySession, sid, wanted) : { authorizations: [], next: null },
    listByClient: async (clientId, wanted) => page(statements.listByClient, clientId, wanted),
    async ownerOf(id) {
      const [row] = isUuid(id) ? await database.query(statements.find, [id]) : []
      return row?.subject ?? null
    },
    revoke: async (id) => isUuid(id) && revoker.revokeAuthorization(id, 'revoked by hand'),
  }
}

function toInformation({
  subject,
  createdAt,
  usedAt,
  binding,
  parent,
  ...row
}: ListedAuthorizationRow): AuthorizationInformation {
  const refreshedAt = usedAt?.getTime() ?? null
  const bound = binding !== null && binding !== undefined
  const derived = parent !== null && parent !== undefined
  return { ...row, userId: subject, createdAt: createdAt.getTime(), refreshedAt, bound, derived }
}
