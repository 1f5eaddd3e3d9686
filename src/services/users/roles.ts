/**
 * Roles, as administrators see them: those that somebody has, and those that are registered, as groups of directories are. `groups.ts` changes the
 * registered ones; a role that nobody has registered is so before it is renamed or deleted.
 */
import { memberError, OAuthError } from '../../protocol/errors.ts'
import { reason } from '../../protocol/message.ts'
import { isRoleName } from '../../protocol/role-name.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/user-roles.ts'
import type { Directory } from '../directory.ts'
import type { Group } from './group-records.ts'
import type { Groups } from './groups.ts'
import {
  counted,
  createRoleLists,
  toRole,
  type CountedRole,
  type Role,
  type RoleLists,
} from './role-lists.ts'
import type { Judge } from './update-options.ts'
import type { UserRegistry } from './user-registry.ts'
import { ADMIN, type User } from './user.ts'

export interface Roles extends RoleLists {
  /** Null where it is not registered, and nobody has it. */
  find(name: string): Promise<CountedRole | null>
  /** Whether somebody who is an administrator has it too. */
  hasAdministrators(name: string): Promise<boolean>
  /** Throws `OAuthError`: `invalid_request` for what cannot be a role, 409 where there is one. */
  create(name: string): Promise<CountedRole>
  /** The user has it from then on; they may have had it. Throws `invalid_request` for what cannot be a role, or who is no user. */
  give(name: string, userId: string, judge?: Judge): Promise<User>
  /** The user has it no more. Throws `invalid_request` for the last administrator, or who is no user. */
  take(name: string, userId: string, judge?: Judge): Promise<User>
  /**
   * All who have it have another in its place. Throws `not_found`, `access_denied` for that of administrators, 409 for one that a directory keeps, and for
   * a name that is taken; 503 where it takes long, and goes on.
   */
  rename(name: string, to: string): Promise<CountedRole>
  /** Nobody has it any more. Throws as `rename`. */
  delete(name: string): Promise<void>
  /** Whether it may be renamed and deleted here. */
  isOurs(role: Pick<Role, 'name' | 'directories'>): boolean
}

interface RolesOptions {
  database: Database
  groups: Groups
  directory: Pick<Directory, 'findClient'>
  users: Pick<UserRegistry, 'get' | 'update'>
}

/** Others change the roles of somebody meanwhile, so many times. */
const TRIES = 8
class Changed extends Error {}

/** @internal */
export function createRoles(options: RolesOptions): Roles {
  const { database, groups, directory, users } = options
  const lists = createRoleLists(database, options)

  async function find(name: string): Promise<CountedRole | null> {
    const found = await groups.ofRoles([name])
    // It is called otherwise already, though some have it still.
    if (found.some(({ former }) => former === name)) return null
    const group = found.find(({ role }) => role === name)
    const [role] = await counted(database.query, [await toRole(directory, name, group)])
    const isThere = name === ADMIN || group !== undefined || role!.members > 0
    return isThere ? role! : null
  }

  const groupOf = async (name: string): Promise<Group | undefined> =>
    (await groups.ofRoles([name])).find(({ role }) => role === name)

  async function assertFree(name: string): Promise<void> {
    if (!isRoleName(name))
      throw memberError(
        'invalid_request',
        'name',
        reason('must have 1 to 64 characters that are seen, without spaces or commas'),
      )
    const near = name === ADMIN ? ADMIN : (await groups.find(name))?.role
    if (near !== undefined || (await find(name)) !== null) throw taken()
  }

  /** The group that it is; made of it where it is none. */
  async function ours(name: string): Promise<Group> {
    const role = await find(name)
    if (role === null) throw new OAuthError('not_found', 'there is no role of this name', { status: 404 })
    if (name === ADMIN)
      throw new OAuthError('access_denied', 'the role of administrators is neither renamed nor deleted')
    if (!isOurs(role))
      throw new OAuthError('conflict', 'a directory keeps this role, and renames and deletes it', {
        status: 409,
      })
    return (await groupOf(name)) ?? groups.adopt(name)
  }

  /** `among` says what they have from then on; as long as they have the same as when it was asked. */
  async function change(
    userId: string,
    among: (roles: readonly string[]) => readonly string[],
    judge?: Judge,
  ): Promise<User> {
    for (let tried = 1; ; tried++) {
      const user = await users.get(userId)
      const unchanged: Judge = (now) => {
        judge?.(now)
        if (now.roles.join(' ') !== user.roles.join(' ')) throw new Changed()
      }
      const roles = among(user.roles)
      if (roles.length === user.roles.length) return user
      try {
        return await users.update(user, { roles }, { keepOneWith: ADMIN, judge: unchanged })
      } catch (error) {
        if (!(error instanceof Changed) || tried >= TRIES) throw error
      }
    }
  }

  return {
    ...lists,
    find,
    isOurs,
    hasAdministrators: async (name) =>
      name === ADMIN || ((await database.query(statements.hasBoth, [name, ADMIN]))[0]?.found ?? false),
    async create(typed) {
      const name = composed(typed)
      await assertFree(name)
      await groups.create(null, { displayName: name }).catch(inWordsOfRoles)
      return (await find(name))!
    },
    async give(name, userId, judge) {
      const [group] = await groups.ofRoles([name])
      // What is taken from everybody just now is given to nobody.
      if (group !== undefined) await groups.finish(group.id)
      return change(userId, (had) => (had.includes(name) ? had : [...had, name]), judge)
    },
    take: async (name, userId, judge) => change(userId, (had) => had.filter((role) => role !== name), judge),
    async rename(name, typed) {
      const to = composed(typed)
      await assertFree(to)
      const { id } = await ours(name)
      await groups.update(id, null, { displayName: to }, ({ role }) => assertStill(role, name)).catch(inWordsOfRoles)
      return (await find(to))!
    }, // prettier-ignore
    async delete(name) {
      const { id } = await ours(name)
      await groups.delete(id, ({ role }) => assertStill(role, name))
    },
  }
}

/** As the name of a group is kept: two that look the same are one. */
function composed(name: string): string {
  return name.normalize('NFC')
}

function isOurs({ name, directories }: Pick<Role, 'name' | 'directories'>): boolean {
  return name !== ADMIN && directories.length === 0
}

function assertStill(role: string, name: string): void {
  if (role !== name) throw new OAuthError('not_found', 'there is no role of this name', { status: 404 })
}

function taken(): OAuthError {
  const why = reason('is that of another role')
  return new OAuthError('conflict', 'name is that of another role', {
    status: 409,
    about: { member: 'name', reason: why },
  })
}

/** Whoever names a role says `name`. */
function inWordsOfRoles(error: unknown): never {
  throw error instanceof OAuthError && error.code === 'conflict' ? taken() : error
}
