/**
 * The one way in which users come to be and change, whoever asks: code, SEED_FILE, the command line, the pages. How is in `registering.ts` and
 * `updating.ts`; finding them and proving who they are is in `user-finder.ts` and `user-authentication.ts`.
 */
import type { HashChosen } from './chosen-passwords.ts'
import { createImportedPasswords } from './imported-passwords.ts'
import { assertKept, lockHolders, type Kept } from './last-of-a-role.ts'
import { createRegisterUser } from './registering.ts'
import type { Also, ImportedUser, Judge, UpdateOptions } from './update-options.ts'
import { changeRegistered, createUpdating, type UpdatingOptions } from './updating.ts'
import {
  createUserAuthentication,
  type UserAuthentication,
  type UserAuthenticationOptions,
} from './user-authentication.ts'
import { disable, enable, forget, type UserChange } from './user-changes.ts'
import { createUserFinder, findRowByName, lockRow, type UserFinder, type Whom } from './user-finder.ts'
import { ADMIN, toUser, type User } from './user.ts'

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
  /**
   * From now on it alone is right. Every session, code and Authorization of the user ends with the old one. Throws `OAuthError`: `invalid_request` that
   * names `password` for one that is too short, much used or known to be stolen (NIST SP 800-63B §3.1.1.2) and `username` for who is not there, and
   * `temporarily_unavailable` (503) where too many are hashed at once.
   */
  setPassword(whom: Whom, password: string): Promise<User>
  /**
   * @internal `setPassword`, in the place of the password that the user has at the time of this call alone: null where that has been replaced,
   * removed or hashed anew when it comes to it. What is proven between the two calls is proven of that one.
   */
  replacement(whom: Whom): Promise<(password: string) => Promise<User | null>>
  /**
   * Ends every session, code and Authorization of the user, who cannot sign in until `enable`; for who is disabled already, it says so anew
   * (`disabledAt`, in milliseconds since the epoch). Throws `OAuthError` (`invalid_request`): it names `username` for who is not there, `roles` for the
   * last who has the role of `keepOneWith`.
   */
  disable(whom: Whom, options?: Kept): Promise<User>
  /** They may sign in again; what was ended stays ended. Throws `OAuthError` (`invalid_request`) that names `username` for who is not there. */
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

/** @internal */
export interface UserRegistryOptions extends UserAuthenticationOptions {
  changeUser: UserChange
  hashChosen: HashChosen
  waysInBy: UpdatingOptions['waysInBy']
}

/** @internal */
export function createUserRegistry(options: UserRegistryOptions): OwnUserRegistry {
  const { database, changeUser, passwords } = options
  const imported = createImportedPasswords(passwords)
  const register = createRegisterUser(options)
  const { update, replacement } = createUpdating({ ...options, imported })

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
    async create(members, from = {}) {
      imported.assertReadable(from.passwordHash)
      return register(members, from)
    },
    createWith: async (members, also, passwordHash) => register(members, { passwordHash, also }),
    update,
    setPassword: async (whom, password) => update(whom, { password }),
    replacement,
    disable: async (whom, kept) =>
      changeRegistered(changeUser, async (query, note) => disable(query, note, whom, kept)),
    enable: async (whom) => changeRegistered(changeUser, async (query, note) => enable(query, note, whom)),
    delete: remove,
    async takesPassword(username, passwordHash) {
      const row = await findRowByName(database, username)
      return row !== undefined && imported.takes(row, passwordHash)
    },
  }
}
