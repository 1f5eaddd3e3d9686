/**
 * By what users are known where they come from: an identifier for each client that provisions them, which no two users have of one client
 * (RFC 7643 §3.1, `externalId`).
 */
import { createHash } from 'node:crypto'
import { memberError, OAuthError } from '../../protocol/errors.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/user-records.ts'
import type { Also } from './update-options.ts'
import type { UserRecordKeeper } from './user-records.ts'

export interface ExternalIds {
  /** Those that the client knows the users by, by the users' ids. */
  of(clientId: string, userIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Each client that knows the user, and by what since when, in milliseconds since the epoch. */
  ofUser(userId: string): Promise<readonly (Known & { readonly since: number })[]>
  /** The id of the user whom the client knows by it; null for none. */
  owner(clientId: string, externalId: string): Promise<string | null>
  /** From then on, the client knows the user by this; null for nothing. Throws 409 where it knows another one by it, `invalid_request` for one that is too long. */
  setting(clientId: string, externalId: string | null): Also
}

export interface Known {
  readonly client: string
  readonly externalId: string
}

const KIND = 'external-id'
/** Characters: names of an LDAP directory are among them. */
const LONGEST = 1024

/** @internal */
export function createExternalIds(
  database: Database,
  { records: keep }: Pick<UserRecordKeeper, 'records'>,
): ExternalIds {
  const records = keep<Known>(KIND, { unique: true })

  return {
    async of(clientId, userIds) {
      const rows = await database.query(statements.ofUsers, [userIds, KIND])
      const known = rows.map(({ userId, value }) => ({ userId, ...(value as unknown as Known) }))
      return new Map(
        known.filter(({ client }) => client === clientId).map((one) => [one.userId, one.externalId]),
      )
    },
    ofUser: async (userId) =>
      (await records.list(userId)).map(({ value, createdAt }) => ({ ...value, since: createdAt })),
    owner: async (clientId, externalId) => records.owner(idOf(clientId, externalId)),
    setting(clientId, externalId) {
      assertExternalId(externalId)
      return async (query, _note, userId) => {
        const rows = await query(statements.list, [userId, KIND])
        const former = rows.find(({ value }) => (value as unknown as Known).client === clientId)
        const id = externalId === null ? undefined : idOf(clientId, externalId)
        if (former?.id === id) return
        if (former !== undefined) await query(statements.delete, [userId, KIND, former.id])
        if (id === undefined) return
        const value = { client: clientId, externalId }
        const stored = await query(statements.put, [userId, KIND, id, value, `${KIND} ${id}`, null])
        if (stored.length === 0) throw taken()
      }
    },
  }
}

/** Throws `invalid_request` for one that is too long to be kept of very many. */
export function assertExternalId(externalId: string | null): void {
  if (externalId !== null && externalId.length > LONGEST)
    throw memberError('invalid_request', 'externalId', `must have ${LONGEST} characters at most`)
}

/** As short as an index wants it, however long the two are. */
function idOf(clientId: string, externalId: string): string {
  return createHash('sha256')
    .update(JSON.stringify([clientId, externalId]))
    .digest('base64url')
}

function taken(): OAuthError {
  const reason = 'is that of another user'
  return new OAuthError('conflict', `externalId ${reason}`, {
    status: 409,
    about: { member: 'externalId', reason },
  })
}
