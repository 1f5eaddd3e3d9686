/** Lists of roles and of who has one, as administrators see them. */
import { usernameKey } from '../../protocol/username.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/user-roles.ts'
import type { Directory } from '../directory.ts'
import type { GroupFinder } from './group-finder.ts'
import { keyOf } from './group-names.ts'
import { isKeptBy, rolesOf, type Group } from './group-records.ts'
import { ADMIN, toUser, type User } from './user.ts'

export interface Role {
  /** What its members have. */
  readonly name: string
  /** What a directory calls it; the name where none does. */
  readonly displayName: string
  /** Those directories that made it or know it, by their client_id: they rename and delete it. */
  readonly directories: readonly string[]
  /** It is being renamed or deleted, which takes a while where many have it. */
  readonly isChanging: boolean
}

export interface CountedRole extends Role {
  /** How many have it; `MOST_COUNTED` and one stands for more. */
  readonly members: number
}

/** Members are counted up to so many. */
export const MOST_COUNTED = 10_000
/** Users who have any role that are looked through for roles that nobody has registered. */
const LOOKED_THROUGH = 100_000
const PAGE = 100

export interface RolePage {
  /** Behind this name. */
  readonly after?: string
  readonly limit?: number
  /** Only those whose name begins with it, in any case. */
  readonly search?: string
}

export interface MemberPage {
  /** Behind this user name. */
  readonly after?: string
  readonly limit?: number
  /** Only those whose user name, name or email address begins with it, in any case. */
  readonly search?: string
}

export interface RoleLists {
  /** By name. */
  list(page?: RolePage): Promise<readonly CountedRole[]>
  /** By user name. */
  members(role: Pick<Role, 'name'>, page?: MemberPage): Promise<readonly User[]>
}

interface RoleListsOptions {
  groups: Pick<GroupFinder, 'list' | 'ofRoles'>
  directory: Pick<Directory, 'findClient'>
}

/** Lists that read from `query`, which may be that of a replica. @internal */
export function createRoleLists(
  { query }: Pick<Database, 'query'>,
  { groups, directory }: RoleListsOptions,
): RoleLists {
  return {
    async list({ after = '', limit = PAGE, search = '' } = {}) {
      const begin = keyOf(search)
      const [registered, inUse] = await Promise.all([
        groups.list(),
        query(statements.inUse, [LOOKED_THROUGH, begin]),
      ])
      const known = new Map(registered.map((group) => [group.role, group]))
      const names = new Set([ADMIN, ...known.keys(), ...inUse.map(({ role }) => role)])
      const former = new Set(registered.map((group) => group.former))
      const shown = [...names]
        .filter((name) => keyOf(name).startsWith(begin) && !former.has(name) && isBehind(name, after))
        .toSorted((one, other) => (isBehind(one, other) ? 1 : -1))
        .slice(0, limit)
      return counted(
        query,
        await Promise.all(shown.map(async (name) => toRole(directory, name, known.get(name)))),
      )
    },
    async members({ name }, { after = '', limit = PAGE, search = '' } = {}) {
      const key = usernameKey(search)
      if (search !== '' && key === null) return []
      const [group] = await groups.ofRoles([name])
      const roles = group === undefined ? [name] : rolesOf(group)
      const place = [roles, search, usernameKey(after) ?? '', limit, key ?? '']
      return (await query(statements.holders, place)).map(toUser)
    },
  }
}

/** @internal */
export async function toRole(
  { findClient }: Pick<Directory, 'findClient'>,
  name: string,
  group: Group | undefined,
): Promise<Role> {
  if (group === undefined) return { name, displayName: name, directories: [], isChanging: false }
  const { displayName, externalIds, keepers, former, isEnding } = group
  const ids = [...new Set([...Object.keys(externalIds), ...Object.keys(keepers)])]
  const clients = await Promise.all(ids.map(async (id) => findClient(id)))
  return {
    name,
    displayName,
    directories: clients
      .flatMap((client) => (client !== null && isKeptBy(group, client) ? client.clientId : []))
      .toSorted(),
    isChanging: former !== null || isEnding,
  }
}

/** @internal */
export async function counted(
  query: Database['query'],
  roles: readonly Role[],
): Promise<readonly CountedRole[]> {
  const rows = await query(statements.countRoles, [roles.map(({ name }) => name), MOST_COUNTED + 1])
  const counts = new Map(rows.map(({ role, count }) => [role, count]))
  return roles.map((role) => ({ ...role, members: counts.get(role.name) ?? 0 }))
}

/** In the order of a list: by what is one name, and those that differ in case alone by themselves. */
function isBehind(name: string, other: string): boolean {
  const [one, two] = [keyOf(name), keyOf(other)]
  return one === two ? name > other : one > two
}
