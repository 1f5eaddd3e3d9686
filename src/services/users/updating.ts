/** How a user changes: members and a password, and what goes with them, are laid over their row in one transaction. */
import type { FastifyBaseLogger } from 'fastify'
import { reason } from '../../protocol/message.ts'
import { assertRoleNames } from '../../protocol/role-name.ts'
import { userError } from '../../protocol/user-members.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { statements, type UserRow } from '../../store/users.ts'
import type { Note } from '../audit/audit.ts'
import type { HashChosen } from './chosen-passwords.ts'
import { readMembers } from './given-members.ts'
import type { ImportedPasswords } from './imported-passwords.ts'
import { assertKept, lockHolders } from './last-of-a-role.ts'
import { tellLostWay } from './lost-ways.ts'
import { passwordMark } from './password-mark.ts'
import { touchGroups } from './role-changes.ts'
import type { UpdateOptions } from './update-options.ts'
import { disable, enable, endWithPassword, noteChanges, type UserChange } from './user-changes.ts'
import { findRow, lockRow, type Whom } from './user-finder.ts'
import { rename } from './user-names.ts'
import { toUser, type User } from './user.ts'
import { claimAddress, toRefusal } from './verified-address.ts'

export interface Updating {
  /** Throws `OAuthError` (`invalid_request`) that names the member, or `username` for who is not there. */
  update(whom: Whom, members: unknown, options?: UpdateOptions): Promise<User>
  /** As `UserRegistry.replacement`. */
  replacement(whom: Whom): Promise<(password: string) => Promise<User | null>>
}

/** @internal */
export interface UpdatingOptions {
  database: Database
  changeUser: UserChange
  hashChosen: HashChosen
  imported: ImportedPasswords
  /** How they can sign in, asked in the transaction of a change. */
  waysInBy: (query: Query, userId: string) => Promise<readonly string[]>
  log: FastifyBaseLogger
}

/** What a change of a user demands. */
interface Demanded extends UpdateOptions {
  /** The mark of the password that they have. */
  replaces?: string
}

/** They have another password than was demanded. */
class AnotherPassword extends Error {}

/** @internal */
export function createUpdating(options: UpdatingOptions): Updating {
  const { database, changeUser, hashChosen, imported, log } = options

  async function update(
    whom: Whom,
    input: unknown,
    { keepOneWith, replaces, judge, mayRename, also, ...laid }: Demanded = {},
  ): Promise<User> {
    const { username: wanted, password, roles, claims } = readMembers(input, log)
    imported.assertReadable(laid.passwordHash)
    const isRead = password !== undefined || roles !== undefined
    const had = isRead ? await findRow(database, whom) : undefined
    const chooser = { username: had?.username, roles: roles ?? had?.roles, inPerson: replaces !== undefined }
    const passwordHash = password === undefined ? null : await hashChosen(password, chooser)
    const changed = changeRegistered(changeUser, async (query, note) => {
      const isEnding = laid.enabled === false || laid.disabled === true
      const isLosing = roles !== undefined || isEnding
      const touched = had === undefined ? [] : await touchGroups(query, had.roles, roles ?? had.roles)
      const holders = await lockHolders(query, isLosing ? keepOneWith : undefined)
      const before = await lockRow(query, whom)
      if (before === undefined) return undefined
      if (replaces !== undefined && passwordMark(before) !== replaces) throw new AnotherPassword()
      judge?.(toUser(before))
      assertRoleNames(roles, before.roles)
      if (wanted !== undefined) await rename(query, before, wanted, { mayRename })
      const [row] = await query(statements.update, [before.id, claims, roles ?? null, passwordHash])
      if (row === undefined) return undefined
      await claimAddress(query, row, claims)
      if (keepOneWith !== undefined && (!row.roles.includes(keepOneWith) || isEnding))
        assertKept(keepOneWith, holders, row.id)
      noteChanges(note, before, row, await tellLostWay(query, options, [before, row], laid))
      if (passwordHash !== null) await endWithPassword(query, note, row.id)
      await also?.(query, note, row.id)
      const after = await lay(query, note, row, laid)
      await touchGroups(query, before.roles, row.roles, touched)
      return after
    })
    return changed.catch((error: unknown) => {
      throw toRefusal(error)
    })
  }

  /** Of a row that this transaction has locked. */
  async function lay(
    query: Query,
    note: Note,
    row: UserRow,
    { passwordHash, disabled = false, enabled = disabled ? false : undefined }: UpdateOptions,
  ): Promise<UserRow | undefined> {
    if (passwordHash !== undefined && imported.takes(row, passwordHash)) {
      await query(statements.rehash, [row.id, row.passwordHash, passwordHash])
      await endWithPassword(query, note, row.id)
    }
    if (enabled === undefined || (enabled && !row.disabledAt)) return row
    return (enabled ? enable : disable)(query, note, row)
  }

  return {
    update,
    async replacement(whom) {
      const row = await findRow(database, whom)
      const replaces = passwordMark(row ?? { passwordHash: null })
      return async (password) =>
        update(whom, { password }, { replaces }).catch((error: unknown) => {
          if (error instanceof AnotherPassword) return null
          throw error
        })
    },
  }
}

/**
 * Where `work` finds nobody, nothing of it is done. Throws `OAuthError` (`invalid_request`) then.
 * @internal
 */
export async function changeRegistered(
  changeUser: UserChange,
  work: (query: Query, note: Note) => Promise<UserRow | undefined>,
): Promise<User> {
  const row = await changeUser(async (query, note) => {
    const changed = await work(query, note)
    if (changed === undefined) throw userError('username', reason('is not registered'))
    return changed
  })
  return toUser(row)
}
