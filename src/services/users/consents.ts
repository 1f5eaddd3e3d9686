/** What users have allowed clients: remembered per user and client, by scopes, resources and the lines of parameters. */
import type { ApprovalRequest } from '../../doors/approval.ts'
import type { Client } from '../../doors/client.ts'
import { statements as authorizationStatements } from '../../store/authorizations.ts'
import { statements, withdraw } from '../../store/consents.ts'
import type { Database } from '../../store/database.ts'
import { isOrphan } from '../../store/failures.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Words } from '../../protocol/message.ts'
import { isUuid } from '../../protocol/uuid.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Audiences } from '../tokens/audiences.ts'
import type { GivenBeside } from '../tokens/given-beside.ts'
import { createNarrow } from '../tokens/narrowing.ts'
import { type ConnectedClient, toConnected } from './connected-client.ts'
import { linesOf, placeLineOf, rememberedText } from './consent-lines.ts'

export interface RememberedConsent {
  /** Another one after it was withdrawn and given again; undefined where there is none. */
  readonly id: string | undefined
  readonly scopes: ReadonlySet<string>
  /** Scopes that were left out, and not allowed since. */
  readonly declined: ReadonlySet<string>
  /** Those that tokens may be for. Empty for what an earlier version remembered: then all those of the scopes. */
  readonly resources: ReadonlySet<string>
  /** What was allowed beside them, in English, by `parameter:key`. */
  readonly lines: ReadonlyMap<string, string>
}

/** A request beside what is remembered. */
export interface ComparedConsent {
  /** Of what is remembered; undefined where nothing is. */
  readonly id: string | undefined
  /** Of its scopes, those that were not allowed before, or not at their resource. */
  readonly newScopes: ReadonlySet<string>
  /** Of its scopes, those that were left out before, may be, and are not asked for again. */
  readonly declined: ReadonlySet<string>
  /** What it asks for beside scopes and resources. */
  readonly lines: readonly { readonly text: Words; readonly isNew: boolean }[]
  /** Whether there is anything to ask. */
  readonly isNew: boolean
}

export interface Consents {
  find(userId: string, client: Pick<Client, 'clientId' | 'unregistered'>): Promise<RememberedConsent>
  /**
   * What of a request is new: scopes, the resources that its tokens would be for (without `resource` all those of the
   * scopes), and lines, unless a scope that gives the same was allowed; all of it, where an app that nobody here has checked takes people
   * elsewhere than before.
   */
  compare(userId: string, request: ApprovalRequest): Promise<ComparedConsent>
  /**
   * Adds what was allowed now to what was allowed before, but for what is for once and for what was allowed elsewhere, and takes away the scopes
   * that were `declined`; returns the id of both. Throws `access_denied` where nothing is left to allow, or the user is gone.
   */
  remember(userId: string, request: ApprovalRequest, declined?: ReadonlySet<string>): Promise<string>
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

const NONE: ReadonlySet<string> = new Set()
const NOTHING: RememberedConsent = {
  id: undefined,
  scopes: NONE,
  declined: NONE,
  resources: NONE,
  lines: new Map(),
}
/** Of one user and client: where there would be more, those of the last request stay, and the others are asked for again. */
const MOST_LINES = 100

/** @internal */
export function createConsents(
  database: Database,
  audit: AuditTrail,
  doors: DoorRegistry,
  audiences: Audiences,
  givenBeside: GivenBeside,
): Consents {
  const narrow = createNarrow(doors, audiences, givenBeside)

  async function find(
    userId: string,
    { clientId, unregistered }: Pick<Client, 'clientId' | 'unregistered'>,
  ): Promise<RememberedConsent> {
    const [row] = await database.query(statements.find, [userId, clientId, unregistered?.identity ?? null])
    return {
      id: row?.id,
      scopes: new Set(row?.scopes),
      declined: new Set(row?.declined.filter((scope) => !row.scopes.includes(scope))),
      resources: new Set(row?.resources),
      lines: new Map(Object.entries(row?.lines ?? {})),
    }
  }

  async function audienceOf(request: ApprovalRequest): Promise<readonly string[]> {
    const { client, scopes, resources, parameters } = request
    const given = { scopes, beside: givenBeside.asked(parameters) }
    // What is registered may have changed since it was asked for.
    return (await audiences.resolve(client, given, await audiences.left(given, resources))).audience
  }

  /** What was left out stays so while the client lets it, and where that leaves something of the request. */
  async function standing(
    request: ApprovalRequest,
    had: RememberedConsent,
  ): Promise<{ rest: ApprovalRequest; declined: ReadonlySet<string> }> {
    const declined = new Set([...optionalScopes(request)].filter((scope) => had.declined.has(scope)))
    try {
      return { rest: await narrow(request, declined), declined }
    } catch (error) {
      if (error instanceof OAuthError && error.code === 'access_denied')
        return { rest: request, declined: NONE }
      throw error
    }
  }

  return {
    find,
    async compare(userId, request) {
      const place = placeLineOf(request)
      const found = await find(userId, request.client)
      // To whom is at another place it was not allowed, by all that people know.
      const had = place === undefined || found.lines.has(place.key) ? found : NOTHING
      const { rest, declined } = await standing(request, had)
      // None, where an earlier version remembered them.
      const isOld = (resource: string): boolean => had.resources.size === 0 || had.resources.has(resource)
      const newResources = new Set((await audienceOf(rest)).filter((one) => !isOld(one)))
      const newScopes = new Set<string>()
      for (const [name, resource] of await audiences.resourcesOf(rest.scopes))
        if (!had.scopes.has(name) || newResources.has(resource)) newScopes.add(name)
      const lines = linesOf(doors.all('parameter'), request).map(({ key, text, scopes, once }) => {
        const isLeftOut = scopes.some((scope) => had.declined.has(scope))
        const isOld = (had.lines.has(key) && !isLeftOut) || scopes.some((scope) => had.scopes.has(scope))
        return { text, isNew: once || !isOld }
      })
      const isNew = newScopes.size > 0 || lines.some((line) => line.isNew)
      return { id: had.id, newScopes, declined, lines, isNew }
    },
    async remember(userId, asked, declined = NONE) {
      const request = await narrow(asked, declined)
      const { clientId, unregistered } = request.client
      const { identity = null, consentLifetime = null } = unregistered ?? {}
      const [scopes, resources] = [[...request.scopes], await audienceOf(request)]
      const place = placeLineOf(request)
      const lines = [...linesOf(doors.all('parameter'), request), ...(place === undefined ? [] : [place])]
      const lasting = lines.filter(({ once }) => !once)
      const texts = Object.fromEntries(lasting.map((line) => [line.key, rememberedText(line)]))
      const keys = lines.length === 0 ? {} : { lines: [...new Set(lines.map(({ key }) => key))] }
      // Who allows a single claim is asked for the scope that holds it once more.
      const lifted = lasting.flatMap((line) => line.scopes)
      const leftOut = [...declined]
      const storing = audit.transaction(async (query, note) => {
        const give = async () => {
          await query(statements.forgetVoid, [userId, clientId, identity])
          if (place !== undefined) await query(statements.empty, [userId, clientId, place.key])
          const [given] = await query(statements.grant, [
            userId,
            clientId,
            scopes,
            resources,
            texts,
            MOST_LINES,
            leftOut,
            lifted,
            identity,
            consentLifetime,
            place?.key ?? null,
          ])
          return given
        }
        // What was allowed elsewhere at the same moment is seen by the second try alone, and waits for this one from then on.
        const remembered = (await give()) ?? (await give())
        if (remembered === undefined)
          throw new OAuthError('invalid_client', 'the app is not registered any more', { status: 400 })
        const details = { scopes, resources, ...keys, ...(leftOut.length === 0 ? {} : { declined: leftOut }) }
        note({ type: 'consent.given', user: userId, client: clientId, details })
        return remembered.id
      })
      return storing.catch((error: unknown) => {
        throw isOrphan(error) ? new OAuthError('access_denied', 'the user is not there any more') : error
      })
    },
    async list(userId, { after = '', limit = 100 } = {}) {
      if (!isUuid(userId)) return []
      const rows = await database.query(statements.connected, [userId, after, limit])
      const ids = rows.map(({ clientId }) => clientId)
      const held = await database.query(authorizationStatements.listByClients, [userId, ids])
      const heldBy = Map.groupBy(held, ({ clientId }) => clientId)
      const parameters = doors.all('parameter')
      return rows.map((row) => toConnected(row, heldBy.get(row.clientId) ?? [], parameters))
    },
    async withdraw(userId, clientId) {
      if (!isUuid(userId)) return false
      return audit.transaction(async (query, note) => {
        const clients = await withdraw(query, userId, clientId)
        if (clients === null) return false
        note({ type: 'consent.withdrawn', user: userId, client: clientId, details: { clients } })
        return true
      })
    },
  }
}

/** Of its scopes, those that its client lets people leave out. */
export function optionalScopes({ client, scopes }: ApprovalRequest): ReadonlySet<string> {
  const named = client.metadata['optional_scopes'] as readonly string[] | undefined
  return named === undefined ? NONE : new Set(named.filter((scope) => scopes.has(scope)))
}
