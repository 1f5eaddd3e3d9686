/**
 * Groups, as directories know them: each stands for a role, which its members have. A group is there also without members, under a name that people
 * read; the role is made of it. What a user has of a role is theirs, whoever gave it.
 */
import { randomUUID } from 'node:crypto'
import type { DoorRegistry } from '../../doors/registry.ts'
import { memberError, OAuthError } from '../../protocol/errors.ts'
import { MOST_ROLES } from '../../protocol/user-members.ts'
import { isUuid, NIL } from '../../protocol/uuid.ts'
import { recordChanges } from '../../store/changes.ts'
import type { Database } from '../../store/database.ts'
import { statements as records, type PluginRecordRow } from '../../store/plugin-records.ts'
import { isDuplicate } from '../../store/failures.ts'
import type { Query } from '../../store/statement.ts'
import { statements as users } from '../../store/user-roles.ts'
import type { AuditTrail, Note } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import { assertExternalId } from './external-ids.ts'
import { keyOf, roleNamed, roleOf } from './group-names.ts'

export interface Group {
  readonly id: string
  readonly displayName: string
  /** What its members have among their roles. */
  readonly role: string
  /** By what clients know it, by their client_id. */
  readonly externalIds: Readonly<Record<string, string>>
  /** For compare-and-set. */
  readonly revision: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
}

/** What a group shall be; ids of members are users'. */
export interface GroupChange {
  readonly displayName?: string
  /** Null for none. */
  readonly externalId?: string | null
  /** All of them, in the place of those before. */
  readonly members?: readonly string[]
  readonly added?: readonly string[]
  readonly removed?: readonly string[]
}

export interface Groups {
  list(after?: string, limit?: number): Promise<readonly Group[]>
  get(id: string): Promise<Group | null>
  /** By its name, in any case. */
  find(displayName: string): Promise<Group | null>
  /** Those that stand for one of these roles. */
  ofRoles(roles: readonly string[]): Promise<readonly Group[]>
  /** Ids of users, in their order, behind `after`. */
  members(group: Pick<Group, 'role'>, after?: string, limit?: number): Promise<readonly string[]>
  /** Throws `OAuthError`: 409 for a name that is taken, `invalid_request` for one that no role can be made of, or who is no user. */
  create(clientId: string, change: GroupChange & { displayName: string }): Promise<Group>
  /** All of it or nothing; null where there is no such group. `judge` sees it as it is then. Throws as `create`. */
  update(
    id: string,
    clientId: string,
    change: GroupChange,
    judge?: (group: Group) => void,
  ): Promise<Group | null>
  /** With the role, of all who have it. False where there is none. */
  delete(id: string, judge?: (group: Group) => void): Promise<boolean>
}

interface Stored {
  readonly displayName: string
  readonly externalIds: Readonly<Record<string, string>>
}

/** Of plugin records. */
const GROUP = 'scim-group'
const MOST = 10_000
const PAGE = 100
/** What no role is called. */
const NO_ROLE = ''

interface GroupsOptions {
  database: Database
  audit: AuditTrail
  feed: ChangeFeed
  doors: Pick<DoorRegistry, 'own'>
}

/** @internal */
export function createGroups({ database, audit, feed, doors }: GroupsOptions): Groups {
  doors.own('record kind', GROUP)
  /** What changes roles, told to every process; users whose roles are others now. */
  async function change<T>(
    work: (query: Query, note: Note) => Promise<{ result: T; changed: readonly string[] }>,
  ): Promise<T> {
    try {
      const { result, changed } = await audit.transaction(async (query, note) => {
        const done = await work(query, note)
        await recordChanges(query, 'user', done.changed)
        return done
      })
      for (const id of changed) await feed.announce('user', id)
      return result
    } catch (error) {
      throw isDuplicate(error) ? taken() : error
    }
  }

  async function setMembers(
    query: Query,
    note: Note,
    role: string,
    { members, added = members ?? [], removed = [] }: GroupChange,
  ): Promise<readonly string[]> {
    const wanted = await known(query, added)
    const given = await query(users.giveRole, [wanted, role])
    if (given.some(({ roles }) => roles.length > MOST_ROLES))
      throw membersError(`must have ${MOST_ROLES} roles at most`)
    const lost =
      members === undefined
        ? await query(users.takeRole, [removed.filter(isUuid), role])
        : await query(users.takeRoleFromOthers, [wanted, role])
    for (const { id, roles } of given)
      noteRoles(note, id, roles.filter((one) => one !== role), roles) // prettier-ignore
    for (const { id, roles } of lost) noteRoles(note, id, [...roles, role], roles)
    return [...given, ...lost].map(({ id }) => id)
  }

  /** Before any of them is changed, with all who have the role where `all` are concerned: of two changes that have the same users, one waits here. */
  async function lockMembers(
    query: Query,
    role: string,
    { members = [], added = [], removed = [] }: GroupChange,
    all: boolean,
  ): Promise<void> {
    const ids = [...members, ...added, ...removed].filter(isUuid)
    await query(users.lockThose, [ids, all ? role : NO_ROLE])
  }

  async function known(query: Query, ids: readonly string[]): Promise<readonly string[]> {
    const asked = [...new Set(ids)]
    if (asked.length === 0) return []
    const found = await query(users.known, [asked.filter(isUuid)])
    if (found.length < asked.length) throw membersError('must be users here')
    return asked
  }

  return {
    async list(after = '', limit = PAGE) {
      return (await database.query(records.list, [GROUP, after, limit])).map(toGroup)
    },
    async get(id) {
      const [row] = isUuid(id) ? await database.query(records.get, [GROUP, id]) : []
      return row === undefined ? null : toGroup(row)
    },
    async find(displayName) {
      const key = keyOf(displayName)
      // No name has such characters, and PostgreSQL takes no NUL.
      const [row] = /\p{C}/u.test(key) ? [] : await database.query(records.find, [GROUP, key])
      return row === undefined ? null : toGroup(row)
    },
    async ofRoles(roles) {
      const asked = new Set(roles)
      const keys = [...new Set([...asked].map(keyOf))]
      const rows = keys.length === 0 ? [] : await database.query(records.findAll, [GROUP, keys])
      return rows.map(toGroup).filter(({ role }) => asked.has(role))
    },
    members: async ({ role }, after = NIL, limit = PAGE) =>
      (await database.query(users.ofRole, [role, after, limit])).map(({ id }) => id),
    async create(clientId, { displayName, externalId = null, ...rest }) {
      const role = roleOf(displayName)
      assertExternalId(externalId)
      const id = randomUUID()
      const externalIds = externalId === null ? {} : { [clientId]: externalId }
      return change(async (query, note) => {
        const values = [GROUP, id, JSON.stringify({ displayName, externalIds }), keyOf(displayName), MOST]
        const [row] = await query(records.put, values)
        if (row?.full) throw new OAuthError('invalid_request', 'there are as many groups as there may be')
        if (row?.stored !== true) throw taken()
        await lockMembers(query, role, rest, rest.members !== undefined)
        const changed = await setMembers(query, note, role, rest)
        const [stored] = await query(records.get, [GROUP, id])
        return { result: toGroup(stored!), changed }
      })
    },
    async update(id, clientId, { displayName, externalId, ...rest }, judge) {
      assertExternalId(externalId ?? null)
      return change(async (query, note) => {
        const [row] = await query(records.lock, [GROUP, id])
        if (row === undefined) return { result: null, changed: [] }
        const before = toGroup(row)
        judge?.(before)
        const called = displayName ?? before.displayName
        const role = displayName === undefined ? before.role : roleOf(displayName)
        const { [clientId]: _former, ...others } = before.externalIds
        const identifier = externalId === undefined ? externalIdOf(before, clientId) : externalId
        const externalIds = identifier === null ? others : { ...others, [clientId]: identifier }
        await lockMembers(query, before.role, rest, role !== before.role || rest.members !== undefined)
        const renamed = role === before.role ? [] : await query(users.renameRole, [before.role, role])
        for (const { id: user, roles } of renamed)
          noteRoles(note, user, roles.map((one) => (one === role ? before.role : one)), roles) // prettier-ignore
        const changed = await setMembers(query, note, role, rest)
        const value = JSON.stringify({ displayName: called, externalIds })
        await query(records.replace, [GROUP, id, value, keyOf(called), row.revision])
        const [stored] = await query(records.get, [GROUP, id])
        return { result: toGroup(stored!), changed: [...renamed.map((user) => user.id), ...changed] }
      })
    },
    async delete(id, judge) {
      return change(async (query, note) => {
        const [row] = await query(records.lock, [GROUP, id])
        if (row === undefined) return { result: false, changed: [] }
        const group = toGroup(row)
        judge?.(group)
        await lockMembers(query, group.role, {}, true)
        const changed = await setMembers(query, note, group.role, { members: [] })
        await query(records.delete, [GROUP, id])
        return { result: true, changed }
      })
    },
  }
}

function toGroup({ id, value, revision, createdAt, updatedAt }: PluginRecordRow): Group {
  const { displayName, externalIds } = value as unknown as Stored
  return {
    id,
    displayName,
    role: roleNamed(displayName),
    externalIds,
    revision,
    createdAt: createdAt.getTime(),
    updatedAt: updatedAt.getTime(),
  }
}

/** By what the client knows it; null for nothing. One may be called `constructor`. */
export function externalIdOf({ externalIds }: Pick<Group, 'externalIds'>, clientId: string): string | null {
  return Object.hasOwn(externalIds, clientId) ? externalIds[clientId]! : null
}

function noteRoles(note: Note, user: string, before: readonly string[], after: readonly string[]): void {
  note({ type: 'user.changed', user, details: { changes: { roles: [before, after] } } })
}

function membersError(reason: string): OAuthError {
  return memberError('invalid_request', 'members', reason)
}

function taken(): OAuthError {
  const reason = 'is that of another group'
  return new OAuthError('conflict', `displayName ${reason}`, {
    status: 409,
    about: { member: 'displayName', reason },
  })
}
