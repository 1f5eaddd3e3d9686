/** Finds groups, and who is in them. */
import { isUuid } from '../../protocol/uuid.ts'
import type { Database } from '../../store/database.ts'
import { statements as records } from '../../store/plugin-records.ts'
import { statements as users, type ChangedRolesRow } from '../../store/user-roles.ts'
import { keyOf, keysOf } from './group-names.ts'
import { GROUP, MOST, rolesOf, toGroup, WORK, type Group } from './group-records.ts'

export interface GroupFinder {
  /** All of them. */
  list(): Promise<readonly Group[]>
  get(id: string): Promise<Group | null>
  /** By its name, in any case. */
  find(displayName: string): Promise<Group | null>
  /** Those that stand for one of these roles. */
  ofRoles(roles: readonly string[]): Promise<readonly Group[]>
  /** Those of several, by the groups' ids; null where there are more than `most` in all. By one statement. */
  membersOf(all: readonly Group[], most: number): Promise<ReadonlyMap<string, readonly string[]> | null>
  /** The same, but only who is among these users. */
  membersAmong(all: readonly Group[], ids: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
}

/** @internal */
export function createGroupFinder(database: Database): GroupFinder {
  return {
    list: async () => (await database.query(records.list, [GROUP, '', MOST])).map(toGroup),
    async get(id) {
      const [row] = isUuid(id) ? await database.query(records.get, [GROUP, id]) : []
      return row === undefined ? null : toGroup(row)
    },
    async find(displayName) {
      // No name has such characters, and PostgreSQL takes no NUL.
      if (/\p{C}/u.test(displayName)) return null
      const found = (await database.query(records.findAll, [GROUP, keysOf(displayName)])).map(toGroup)
      const isSame = (one: Group) => keyOf(one.displayName) === keyOf(displayName)
      return found.find(isSame) ?? found[0] ?? null
    },
    async ofRoles(roles) {
      const asked = new Set(roles)
      const keys = [...new Set([...asked].map(keyOf))]
      if (keys.length === 0) return []
      const [rows, works] = await Promise.all([
        database.query(records.findAll, [GROUP, keys]),
        database.query(records.findAll, [WORK, keys]),
      ])
      const there = new Set(rows.map(({ id }) => id))
      const renamed = works.filter(({ id }) => !there.has(id))
      for (const { id } of renamed) rows.push(...(await database.query(records.get, [GROUP, id])).map((row) => ({ ...row, key: '' }))) // prettier-ignore
      return rows.map(toGroup).filter((group) => rolesOf(group).some((role) => asked.has(role)))
    },
    async membersOf(all, most) {
      if (all.length === 0) return new Map()
      const rows = await database.query(users.inRoles, [all.flatMap(rolesOf), most + 1])
      const members = byGroup(all, rows)
      const count = [...members.values()].reduce((sum, ids) => sum + ids.length, 0)
      return count > most ? null : members
    },
    membersAmong: async (all, ids) =>
      byGroup(all, await database.query(users.known, [[...new Set(ids)].filter(isUuid)])),
  }
}

/** Who of these is in which group, in the order of their ids. */
function byGroup(
  all: readonly Group[],
  rows: readonly Pick<ChangedRolesRow, 'id' | 'roles'>[],
): ReadonlyMap<string, readonly string[]> {
  const members = new Map<string, string[]>()
  for (const { id, roles } of rows) for (const role of roles) {
    const had = members.get(role)
    if (had === undefined) members.set(role, [id])
    else had.push(id)
  } // prettier-ignore
  return new Map(
    all.map((group) => [
      group.id,
      [...new Set(rolesOf(group).flatMap((role) => members.get(role) ?? []))].toSorted(),
    ]),
  )
}
