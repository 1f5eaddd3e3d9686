/**
 * The one way in which users come to be and change, whoever asks: code, SEED_FILE, the command line, the pages.
 * Finding them and proving who they are is in `user-finder.ts` and `user-authentication.ts`.
 */
import { randomUUID } from 'node:crypto'
import { changesBetween } from '../../protocol/changes.ts'
import { reason } from '../../protocol/message.ts'
import { assertRoleNames } from '../../protocol/role-name.ts'
import { parseUserMembers, userError, type UserMembers } from '../../protocol/user-members.ts'
import { usernameKey } from '../../protocol/username.ts'
import type { Query } from '../../store/statement.ts'
import { isDuplicate } from '../../store/failures.ts'
import { statements, type UserRow } from '../../store/users.ts'
import type { Note } from '../audit/audit.ts'
import { createHashChosen, type Chooser } from './chosen-passwords.ts'
import { assertKept, lockHolders, type Kept } from './last-of-a-role.ts'
import { tellLostWay } from './lost-ways.ts'
import { touchGroups } from './role-changes.ts'
import type { Also, ImportedUser, Judge, UpdateOptions } from './update-options.ts'
import { passwordMark } from './password-resets.ts'
import {
  createUserAuthentication,
  type UserAuthentication,
  type UserAuthenticationOptions,
} from './user-authentication.ts'
import {
  createUserFinder,
  findRow,
  findRowByName,
  lockRow,
  type UserFinder,
  type Whom,
} from './user-finder.ts'
import { nameTaken, rename } from './user-names.ts'
import { ADMIN, toUser, type User } from './user.ts'
import {
  disable,
  enable,
  endWithPassword,
  forget,
  membersOf,
  noteChanges,
  type UserChange,
} from './user-changes.ts'
import { claimAddress, isOfAddress, toRefusal } from './verified-address.ts'

export interface UserRegistry extends UserFinder, UserAuthentication {
  /**
   * Registers a user: `username`, and where they are known `password`, `roles` and the standard claims by their wire
   * names. Who has no password cannot sign in by one. Throws `OAuthError` (`invalid_request`) that names the member.
   */
  create(members: unknown, imported?: ImportedUser): Promise<User>
  /**
   * Lays members over those of a user; a claim that is null is taken away. A password ends what was, as `setPassword`.
   * An imported one is taken where `takesPassword` says so. Another `username` is for who says `mayRename`; nothing ends with the former one.
   */
  update(whom: Whom, members: unknown, options?: UpdateOptions): Promise<User>
  /** Whether an imported hash would be the user's: they have no password, or another imported one, never used here. */
  takesPassword(username: string, passwordHash: string): Promise<boolean>
  /** From now on it alone is right. Every session, code and Authorization of the user ends with the old one. */
  setPassword(whom: Whom, password: string): Promise<User>
  /**
   * @internal `setPassword`, in the place of the password that the user has at the time of this call alone: null where that has been replaced,
   * removed or hashed anew when it comes to it. What is proven between the two calls is proven of that one.
   */
  replacement(whom: Whom): Promise<(password: string) => Promise<User | null>>
  /** Ends every session, code and Authorization of the user, who cannot sign in until `enable`; for who is disabled already, it says so anew (`disabledAt`). */
  disable(whom: Whom, options?: Kept): Promise<User>
  /** They may sign in again; what was ended stays ended. */
  enable(whom: Whom): Promise<User>
  /**
   * Ends every session, code and Authorization of the user, and forgets them with their consents, records and artifacts: one
   * transaction. The audit log goes on naming them by their id. False where there is none; throws `OAuthError` (`invalid_request`) for the last
   * administrator who may sign in.
   */
  delete(whom: Whom, options?: { judge?: Judge }): Promise<boolean>
}

/** @internal */
export interface OwnUserRegistry extends UserRegistry {
  /** `create`, and what goes with it: neither is there without the other. `passwordHash` is of a password that was judged before. */
  createWith(members: unknown, also: Also, passwordHash?: string): Promise<User>
}

/** What a change of a user demands. */
interface Demanded extends UpdateOptions {
  /** The mark of the password that they have. */
  replaces?: string
}

/** They have another password than was demanded. */
class AnotherPassword extends Error {}

/** @internal */
export interface UserRegistryOptions extends UserAuthenticationOptions {
  changeUser: UserChange
  /** A production start refuses short passwords; a development start warns of them. */
  production: boolean
  /** How they can sign in, asked in the transaction of a change. */
  waysInBy: (query: Query, userId: string) => Promise<readonly string[]>
}

/** @internal */
export function createUserRegistry(options: UserRegistryOptions): OwnUserRegistry {
  const { database, changeUser, passwords, log } = options

  /** Of somebody who is there. */
  async function change(work: (query: Query, note: Note) => Promise<UserRow | undefined>): Promise<User> {
    const row = await changeUser(async (query, note) => {
      const changed = await work(query, note)
      if (changed === undefined) throw userError('username', reason('is not registered'))
      return changed
    })
    return toUser(row)
  }

  function parse(input: unknown): UserMembers {
    const members = parseUserMembers(input)
    for (const member of members.unknown)
      log.warn(
        { user: members.username, member: member.slice(0, 100) },
        'unknown member of a user is ignored',
      )
    return members
  }

  const hashChosen = createHashChosen(options)
  const hash = async (password: string | undefined, chooser: Chooser): Promise<string | null> =>
    password === undefined ? null : hashChosen(password, chooser)

  function assertReadable(passwordHash: string | undefined): void {
    if (passwordHash !== undefined && !passwords.isImported(passwordHash))
      throw userError('password', reason('has a hash of a form that is not read here'))
  }

  const takes = ({ passwordHash: stored }: UserRow, imported: string): boolean =>
    stored === null || stored === undefined || (stored !== imported && passwords.isImported(stored))

  async function create(input: unknown, imported: ImportedUser): Promise<User> {
    const { username, password, roles = [], claims } = parse(input)
    if (username === undefined) throw userError('username', reason('is missing'))
    assertRoleNames(roles)
    const passwordHash = (await hash(password, { username, roles })) ?? imported.passwordHash ?? null
    const disabledAt = imported.disabled ? new Date() : null
    const known = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null))
    const values = [randomUUID(), username, usernameKey(username), passwordHash, roles, known, disabledAt]
    try {
      return await change(async (query, note) => {
        const [row] = await query(statements.insert, values)
        await claimAddress(query, row!, claims)
        const changes = changesBetween({}, membersOf(row!))
        note({ type: 'user.registered', user: row!.id, details: { changes } })
        await imported.also?.(query, note, row!.id)
        await touchGroups(query, [], roles)
        return row
      })
    } catch (error) {
      if (isDuplicate(error) && !isOfAddress(error)) throw nameTaken()
      throw toRefusal(error)
    }
  }

  async function update(
    whom: Whom,
    input: unknown,
    { keepOneWith, replaces, judge, mayRename, also, ...laid }: Demanded = {},
  ): Promise<User> {
    const { username: wanted, password, roles, claims } = parse(input)
    assertReadable(laid.passwordHash)
    const isRead = password !== undefined || roles !== undefined
    const had = isRead ? await findRow(database, whom) : undefined
    const chooser = { username: had?.username, roles: roles ?? had?.roles, inPerson: replaces !== undefined }
    const passwordHash = await hash(password, chooser)
    const changed = change(async (query, note) => {
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
    if (passwordHash !== undefined && takes(row, passwordHash)) {
      await query(statements.rehash, [row.id, row.passwordHash, passwordHash])
      await endWithPassword(query, note, row.id)
    }
    if (enabled === undefined || (enabled && !row.disabledAt)) return row
    return (enabled ? enable : disable)(query, note, row)
  }

  /** Holders first, then the user's row, as all changes do. */
  async function remove(whom: Whom, { judge }: { judge?: Judge } = {}): Promise<boolean> {
    const removed = await changeUser(async (query, note) => {
      const holders = await lockHolders(query, ADMIN)
      const row = await lockRow(query, whom)
      if (row === undefined) return undefined
      judge?.(toUser(row))
      assertKept(ADMIN, holders, row.id)
      await forget(query, note, row)
      return row
    })
    return removed !== undefined
  }

  return {
    ...createUserFinder(database),
    ...createUserAuthentication(options),
    async create(members, imported = {}) {
      assertReadable(imported.passwordHash)
      return create(members, imported)
    },
    createWith: async (members, also, passwordHash) => create(members, { passwordHash, also }),
    update,
    setPassword: async (whom, password) => update(whom, { password }),
    async replacement(whom) {
      const row = await findRow(database, whom)
      const replaces = passwordMark(row ?? { passwordHash: null })
      return async (password) =>
        update(whom, { password }, { replaces }).catch((error: unknown) => {
          if (error instanceof AnotherPassword) return null
          throw error
        })
    },
    disable: async (whom, kept) =>
      change(async (query, note) => disable(query, note, whom, { ...kept, anew: true })),
    enable: async (whom) => change(async (query, note) => enable(query, note, whom)),
    delete: remove,
    async takesPassword(username, passwordHash) {
      const row = await findRowByName(database, username)
      return row !== undefined && takes(row, passwordHash)
    },
  }
}
