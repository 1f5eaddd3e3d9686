/**
 * Groups, as directories know them: each stands for a role, which its members have. A group is there also without members, under a name that people
 * read; the role is made of it. What a user has of a role is theirs, whoever gave it.
 */
import { randomUUID } from 'node:crypto'
import type { DoorRegistry } from '../../doors/registry.ts'
import { changesBetween } from '../../protocol/changes.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Database } from '../../store/database.ts'
import { isDuplicate } from '../../store/failures.ts'
import { statements as records } from '../../store/plugin-records.ts'
import type { Query } from '../../store/statement.ts'
import { statements as users } from '../../store/user-roles.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import { assertExternalId } from './external-ids.ts'
import { createGroupFinder, type GroupFinder } from './group-finder.ts'
import { knownUsers, lockMembers, setMembers, type MembersChange } from './group-members.ts'
import { keyOf, roleOf } from './group-names.ts'
import {
  EMPTYING,
  GROUP,
  knownBy,
  MOST,
  toGroup,
  told,
  toStored,
  WORK,
  type Group,
  type Keeper,
} from './group-records.ts'
import { beingChanged, createGroupWork, PART } from './group-work.ts'
import { createRoleChange, noteRoles, type RoleChange } from './role-changes.ts'

export { externalIdOf, type Group, type Keeper } from './group-records.ts'

/** What a group shall be. */
export interface GroupChange extends MembersChange {
  readonly displayName?: string
  /** Null for none. */
  readonly externalId?: string | null
}

export interface Groups extends GroupFinder {
  /**
   * Null for a client: an administrator makes it. Throws `OAuthError`: 409 for a name that is taken, `invalid_request` for one that no role can be
   * made of, or who is no user; 503 for one that is being taken from others.
   */
  create(client: Keeper | null, change: GroupChange & { displayName: string }): Promise<Group>
  /**
   * All of it or nothing; null where there is no such group. `judge` sees it as it is then. Another name of many members is given to them in parts, and
   * many are taken out in parts before all else: throws 503 where that takes long, and it goes on. Throws as `create`.
   */
  update(
    id: string,
    client: Keeper | null,
    change: GroupChange,
    judge?: (group: Group) => void,
  ): Promise<Group | null>
  /** With the role, of all who have it; in parts, as `update`. False where there is none. */
  delete(id: string, judge?: (group: Group) => void): Promise<boolean>
  /** The role, that nobody has registered, as a group of this very name; throws as `create`. */
  adopt(role: string): Promise<Group>
  /** What is being done to it in parts, to its end. Throws 503 where that takes long. */
  finish(id: string): Promise<unknown>
  /** One part of what was left: how many users that were. */
  goOn(): Promise<number>
}

/** @internal */
export interface GroupsOptions {
  database: Database
  audit: AuditTrail
  feed: ChangeFeed
  doors: Pick<DoorRegistry, 'own'>
}

/** @internal */
export function createGroups({ database, audit, feed, doors }: GroupsOptions): Groups {
  doors.own('record kind', GROUP)
  for (const kind of [WORK, EMPTYING]) doors.own('record kind', kind)

  const changing = createRoleChange(audit, feed)
  const change: RoleChange = async (work) =>
    changing(work).catch((error: unknown) => {
      throw isDuplicate(error) ? taken() : error
    })
  const finder = createGroupFinder(database)
  const work = createGroupWork(database, changing)

  /** Until it is stored nobody else begins to take it away: of two at once, one waits for the other's key. */
  async function assertFree(query: Query, role: string): Promise<void> {
    if ((await query(records.find, [WORK, keyOf(role)])).length > 0) throw beingChanged(role)
  }

  /** Throws 503 for one of which something is done in parts. */
  async function lock(query: Query, id: string): Promise<Group | undefined> {
    const [row] = await query(records.lock, [GROUP, id])
    const group = row === undefined ? undefined : toGroup(row)
    if (group?.isEnding || (group?.former ?? null) !== null) throw beingChanged(group!.role)
    if (group !== undefined && (await query(records.get, [EMPTYING, id])).length > 0)
      throw beingChanged(group.role)
    return group
  }

  async function stored(query: Query, id: string): Promise<Group> {
    return toGroup((await query(records.get, [GROUP, id]))[0]!)
  }

  /**
   * Where all members are said, and very many have the role beside them: these lose it in parts, before all else is changed. Whether there were so
   * many. What could be refused afterwards is refused before.
   */
  async function empty(
    id: string,
    displayName: string | undefined,
    members: readonly string[],
    judge?: (group: Group) => void,
  ): Promise<boolean> {
    const found = await finder.get(id)
    if (found === null || !(await isHeldBy(found.role, members.length + PART))) return false
    const isBegun = await change(async (query, note) => {
      const group = await lock(query, id)
      if (group === undefined) return { result: false, changed: [] }
      judge?.(group)
      const keeps = await knownUsers(query, members, group.role)
      const role = displayName === undefined ? group.role : roleOf(displayName)
      const named = await query(records.find, [GROUP, keyOf(role)])
      if (named.some((other) => other.id !== id)) throw taken()
      const some = await query(users.takeRoleFromSomeOthers, [group.role, PART, keeps])
      await query(records.replace, [GROUP, id, toStored(group), keyOf(group.role), group.revision])
      await work.beginEmptying(query, id, { from: group.role, keeps })
      return { result: true, changed: noteRoles(note, some) }
    })
    if (isBegun) await work.finish(id)
    return isBegun
  }

  /** Whether so many have the role. */
  async function isHeldBy(role: string, many: number): Promise<boolean> {
    const [counted] = await database.query(users.countRoles, [[role], many])
    return (counted?.count ?? 0) >= many
  }

  async function make(
    client: Keeper | null,
    role: string,
    { displayName, externalId = null, ...rest }: GroupChange & { displayName: string },
  ): Promise<Group> {
    assertExternalId(externalId)
    const id = randomUUID()
    const group = {
      id,
      displayName,
      role,
      former: null,
      isEnding: false,
      revision: 0,
      createdAt: 0,
      updatedAt: 0,
      externalIds: client === null || externalId === null ? {} : { [client.clientId]: externalId },
      keepers: client === null ? {} : { [client.clientId]: client.registeredAt },
    }
    return change(async (query, note) => {
      const [row] = await query(records.put, [GROUP, id, toStored(group), keyOf(role), MOST])
      if (row?.full) throw new OAuthError('invalid_request', 'there are as many groups as there may be')
      if (row?.stored !== true) throw taken()
      await assertFree(query, role)
      const changes = changesBetween({}, told(group, client))
      note({ type: 'role.registered', details: { role, changes } })
      await lockMembers(query, role, rest)
      const changed = await setMembers(query, note, role, rest)
      return { result: await stored(query, id), changed }
    })
  }

  return {
    ...finder,
    create: async (client, made) => make(client, roleOf(made.displayName), made),
    adopt: async (role) => make(null, role, { displayName: role }),
    finish: work.finish,
    async update(id, client, { displayName, externalId, ...rest }, judge) {
      assertExternalId(externalId ?? null)
      await work.finish(id)
      const isEmptied = rest.members !== undefined && (await empty(id, displayName, rest.members, judge))
      const updated = await change(async (query, note) => {
        const before = await lock(query, id)
        if (before === undefined) return { result: null, changed: [] }
        if (!isEmptied) judge?.(before)
        const called = displayName ?? before.displayName
        const role = called === before.displayName ? before.role : roleOf(called)
        await lockMembers(query, before.role, rest)
        const changed = await setMembers(query, note, before.role, rest)
        const moved =
          role === before.role ? [] : await query(users.renameRoleOfSome, [before.role, role, PART])
        const renamed = noteRoles(note, moved)
        const former = renamed.length < PART ? null : before.role
        const after = {
          ...before,
          displayName: called,
          role,
          former,
          ...(externalId === undefined || client === null ? {} : knownBy(before, client, externalId)),
        }
        await query(records.replace, [GROUP, id, toStored(after), keyOf(role), before.revision])
        if (role !== before.role) await assertFree(query, role)
        if (former !== null) await work.begin(query, id, { from: former, to: role })
        const changes = changesBetween(told(before, client), told(after, client))
        if (Object.keys(changes).length > 0) note({ type: 'role.changed', details: { role, changes } })
        return { result: await stored(query, id), changed: [...changed, ...renamed] }
      })
      if (updated === null || updated.former === null) return updated
      await work.finish(id)
      return finder.get(id)
    },
    async delete(id, judge) {
      if ((await work.finish(id)) === 'deleted') return true
      const isThere = await change(async (query, note) => {
        const group = await lock(query, id)
        if (group === undefined) return { result: false, changed: [] }
        judge?.(group)
        const changed = noteRoles(note, await query(users.takeRoleFromSome, [group.role, PART]))
        if (changed.length < PART) {
          await query(records.delete, [GROUP, id])
          note({ type: 'role.deleted', details: { role: group.role } })
        } else {
          const ending = toStored({ ...group, isEnding: true })
          await query(records.replace, [GROUP, id, ending, keyOf(group.role), group.revision])
          await work.begin(query, id, { from: group.role, to: null })
        }
        return { result: true, changed }
      })
      if (isThere) await work.finish(id)
      return isThere
    },
    goOn: work.goOn,
  }
}

function taken(): OAuthError {
  const reason = 'is that of another group'
  return new OAuthError('conflict', `displayName ${reason}`, {
    status: 409,
    about: { member: 'displayName', reason },
  })
}
