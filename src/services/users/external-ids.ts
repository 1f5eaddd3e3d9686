/**
 * By what users are known where they come from: an identifier for each client that provisions them, which no two users have of one client
 * (RFC 7643 §3.1, `externalId`).
 */
import { createHash } from 'node:crypto'
import { memberError, OAuthError } from '../../protocol/errors.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { statements, type UserRecordRow } from '../../store/user-records.ts'
import type { Directory } from '../directory.ts'
import type { Keeper } from './group-records.ts'
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
  /** When the client was registered: another one of its id is another one. Absent in records of before that was kept. */
  readonly registeredAt?: number
}

const KIND = 'external-id'
/** Characters: names of an LDAP directory are among them. */
const LONGEST = 1024

/** What is said of a record: whose it is, and since when. */
type Kept = Pick<UserRecordRow, 'value' | 'createdAt'>

/** @internal */
export function createExternalIds(
  database: Database,
  { records: keep }: Pick<UserRecordKeeper, 'records'>,
  { findClient }: Pick<Directory, 'findClient'>,
): ExternalIds {
  const records = keep<Known>(KIND, { unique: true })

  return {
    async of(clientId, userIds) {
      const client = await findClient(clientId)
      const rows = client === null ? [] : await database.query(statements.ofUsers, [userIds, KIND])
      return new Map(
        rows.filter((row) => isOf(row, client!)).map((row) => [row.userId, known(row).externalId]),
      )
    },
    async ofUser(userId) {
      const all = await database.query(statements.list, [userId, KIND])
      const clients = await Promise.all(all.map(async (row) => findClient(known(row).client)))
      return all
        .filter((row, at) => clients[at] === null || isOf(row, clients[at]!))
        .map((row) => ({ ...known(row), since: row.createdAt.getTime() }))
    },
    async owner(clientId, externalId) {
      const client = await findClient(clientId)
      if (client === null) return null
      return (
        (await records.owner(idOf(client, externalId))) ?? formerOwner(database.query, client, externalId)
      )
    },
    setting: (clientId, externalId) => {
      assertExternalId(externalId)
      return async (query, _note, userId) => {
        const client = await findClient(clientId)
        if (client === null) return
        const rows = (await query(statements.list, [userId, KIND])).filter(
          (row) => known(row).client === clientId,
        )
        const now = rows.find((row) => isOf(row, client))
        if ((now === undefined ? null : known(now).externalId) === externalId) return
        // Those of a former client of this id, too.
        for (const { id } of rows) await query(statements.delete, [userId, KIND, id])
        if (externalId === null) return
        if ((await formerOwner(query, client, externalId)) !== null) throw taken()
        const id = idOf(client, externalId)
        const value: Known = { client: clientId, externalId, registeredAt: client.registeredAt }
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

const known = ({ value }: Pick<Kept, 'value'>): Known => value as unknown as Known

/** Whether it is this client, and not a former one of its id, that knows somebody by it. */
function isOf(record: Kept, { clientId, registeredAt: since }: Keeper): boolean {
  const { client, registeredAt } = known(record)
  if (client !== clientId) return false
  return registeredAt === undefined ? record.createdAt.getTime() >= since : registeredAt === since
}

/** Whom the client knows by it from before it was kept when clients were registered. */
async function formerOwner(query: Query, client: Keeper, externalId: string): Promise<string | null> {
  const id = hashOf([client.clientId, externalId])
  const [owner] = await query(statements.owner, [`${KIND} ${id}`])
  if (owner === undefined) return null
  const rows = await query(statements.list, [owner.userId, KIND])
  return rows.some((row) => row.id === id && isOf(row, client)) ? owner.userId : null
}

function idOf({ clientId, registeredAt }: Keeper, externalId: string): string {
  return hashOf([clientId, externalId, registeredAt])
}

/** As short as an index wants it, however long they are. */
function hashOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}

function taken(): OAuthError {
  const reason = 'is that of another user'
  return new OAuthError('conflict', `externalId ${reason}`, {
    status: 409,
    about: { member: 'externalId', reason },
  })
}
