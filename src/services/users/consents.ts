/** What users have allowed clients: remembered per user and client, by scopes, resources and the lines of parameters. */
import type { ApprovalRequest } from '../../doors/approval.ts'
import {
  statements as authorizationStatements,
  type ListedAuthorizationRow,
} from '../../store/authorizations.ts'
import { statements, withdraw, type ConnectedRow } from '../../store/consents.ts'
import type { Database } from '../../store/database.ts'
import { isUuid } from '../../protocol/uuid.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Audiences } from '../tokens/audiences.ts'
import { linesOf } from './consent-lines.ts'

export interface RememberedConsent {
  /** Another one after it was withdrawn and given again; undefined where there is none. */
  readonly id: string | undefined
  readonly scopes: ReadonlySet<string>
  /** Those that tokens may be for. Empty for what an earlier version remembered: then all those of the scopes. */
  readonly resources: ReadonlySet<string>
  /** What was read and allowed beside them, by `parameter:key`. */
  readonly lines: ReadonlyMap<string, string>
}

/** A request beside what is remembered. */
export interface ComparedConsent {
  /** Of what is remembered; undefined where nothing is. */
  readonly id: string | undefined
  /** Of its scopes, those that were not allowed before, or not at their resource. */
  readonly newScopes: ReadonlySet<string>
  /** What it asks for beside scopes and resources. */
  readonly lines: readonly { readonly text: string; readonly isNew: boolean }[]
  /** Whether there is anything to ask. */
  readonly isNew: boolean
}

export interface Consents {
  find(userId: string, clientId: string): Promise<RememberedConsent>
  /**
   * What of a request is new: scopes, the resources that its tokens would be for (without `resource` all those of the
   * scopes), and lines, unless a scope that gives the same was allowed.
   */
  compare(userId: string, request: ApprovalRequest): Promise<ComparedConsent>
  /** Adds what was allowed now to what was allowed before, but for what is for once; returns the id of both. */
  remember(userId: string, request: ApprovalRequest): Promise<string>
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
  /** What was allowed beside them, as it was read. */
  readonly lines: readonly string[]
  /** The first that is known. */
  readonly since: number
  /** When a code or refresh token was last exchanged, or something allowed. */
  readonly usedAt: number
  /** Whether it can get access tokens without the user, by a refresh token. */
  readonly refreshable: boolean
}

/** Of one user and client: where there would be more, those of the last request stay, and the others are asked for again. */
const MOST_LINES = 100

/** @internal */
export function createConsents(
  database: Database,
  audit: AuditTrail,
  doors: DoorRegistry,
  audiences: Audiences,
): Consents {
  async function find(userId: string, clientId: string): Promise<RememberedConsent> {
    const [row] = await database.query(statements.find, [userId, clientId])
    return {
      id: row?.id,
      scopes: new Set(row?.scopes),
      resources: new Set(row?.resources),
      lines: new Map(Object.entries(row?.lines ?? {})),
    }
  }

  const audienceOf = async ({ client, scopes, resources }: ApprovalRequest): Promise<readonly string[]> =>
    (await audiences.resolve(client, scopes, resources)).audience

  return {
    find,
    async compare(userId, request) {
      const had = await find(userId, request.client.clientId)
      // None, where an earlier version remembered them.
      const isOld = (resource: string): boolean => had.resources.size === 0 || had.resources.has(resource)
      const newResources = new Set((await audienceOf(request)).filter((one) => !isOld(one)))
      const newScopes = new Set<string>()
      for (const [name, resource] of await audiences.resourcesOf(request.scopes))
        if (!had.scopes.has(name) || newResources.has(resource)) newScopes.add(name)
      const lines = linesOf(doors.all('parameter'), request).map(({ key, text, scopes, once }) => {
        const isOld = had.lines.has(key) || scopes.some((scope) => had.scopes.has(scope))
        return { text, isNew: once || !isOld }
      })
      const isNew = newScopes.size > 0 || lines.some((line) => line.isNew)
      return { id: had.id, newScopes, lines, isNew }
    },
    async remember(userId, request) {
      const { clientId } = request.client
      const [scopes, resources] = [[...request.scopes], await audienceOf(request)]
      const lines = linesOf(doors.all('parameter'), request)
      const lasting = lines.filter(({ once }) => !once)
      const texts = Object.fromEntries(lasting.map(({ key, text }) => [key, text]))
      const keys = lines.length === 0 ? {} : { lines: [...new Set(lines.map(({ key }) => key))] }
      return audit.transaction(async (query, note) => {
        const [remembered] = await query(statements.grant, [
          userId,
          clientId,
          scopes,
          resources,
          texts,
          MOST_LINES,
        ])
        const details = { scopes, resources, ...keys }
        note({ type: 'consent.given', user: userId, client: clientId, details })
        return remembered!.id
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
        const sids = await withdraw(query, userId, clientId)
        if (sids === null) return false
        const details = { clients: [{ client: clientId, sids }] }
        note({ type: 'consent.withdrawn', user: userId, client: clientId, details })
        return true
      })
    },
  }
}

function toConnected(
  { clientId, scopes, resources, lines, grantedAt }: ConnectedRow,
  held: readonly ListedAuthorizationRow[],
): ConnectedClient {
  const granted = grantedAt === null ? [] : [grantedAt.getTime()]
  return {
    clientId,
    scopes: united(scopes ?? [], ...held.map((one) => one.scopes)),
    resources: united(resources ?? [], ...held.map((one) => one.resources)),
    lines: united(Object.values(lines ?? {})),
    since: Math.min(...granted, ...held.map(({ createdAt }) => createdAt.getTime())),
    usedAt: Math.max(...granted, ...held.map(({ usedAt, createdAt }) => (usedAt ?? createdAt).getTime())),
    refreshable: held.some(({ refreshable }) => refreshable),
  }
}

function united(...lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())]
}
