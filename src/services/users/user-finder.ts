/** Finds users: by their id, their name, the beginning of it, and their role. */
import { userError } from '../../protocol/user-members.ts'
import { addressForms } from '../../protocol/mail-address.ts'
import { usernameKey } from '../../protocol/username.ts'
import { type Page, type Place, readPage } from '../../store/begins-with.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { statements as roles } from '../../store/user-roles.ts'
import { findUserRow, statements, type UserRow } from '../../store/users.ts'
import { isUuid, NIL } from '../../protocol/uuid.ts'
import { emailKeyOf, toUser, type User } from './user.ts'
import { findHolders } from './verified-address.ts'

/** Who is meant: whoever is called so, or somebody who was found, whatever they are called by then. */
export type Whom = string | Pick<User, 'id'>

export interface UserLists {
  /** By user name, from the one after `after`, at most `limit` (100). */
  list(options?: { after?: string; limit?: number }): Promise<User[]>
  /** By user name, at most `limit` behind the first `offset`; each is counted, so that later ones take longer. */
  page(options: { offset: number; limit: number }): Promise<User[]>
  /** How many there are. */
  count(): Promise<number>
  /** Those whose user name, name or email address begins with `begin`, in any case: by what was found, at most `limit` (100). */
  search(begin: string, options?: { after?: Place; limit?: number }): Promise<Page<User>>
}

export interface UserFinder extends UserLists {
  /** Also a disabled one; null when there is none. Upper and lower case are the same. */
  find(username: string): Promise<User | null>
  /** Whose verified email address it is; null where it is nobody's. Upper and lower case are the same, and so are spellings of one domain. */
  findByEmail(address: string): Promise<User | null>
  /** By the id; what a client calls them is `subjectOf`. Throws when it is not there. */
  get(id: string): Promise<User>
  /** Whether anybody who may sign in has this role. */
  hasRole(role: string): Promise<boolean>
}

/** @internal */
export async function findRowByName(database: Database, username: string): Promise<UserRow | undefined> {
  const key = usernameKey(username)
  if (key === null) return undefined
  const [row] = await database.query(statements.byKey, [key])
  return row
}

/** @internal */
export async function findRow(database: Database, whom: Whom): Promise<UserRow | undefined> {
  if (typeof whom === 'string') return findRowByName(database, whom)
  return (await findUserRow(database, whom.id)) ?? undefined
}

/**
 * The row, until the end of the transaction.
 * @internal
 */
export async function lockRow(query: Query, whom: Whom): Promise<UserRow | undefined> {
  const isNamed = typeof whom === 'string'
  if (!isNamed && !isUuid(whom.id)) return undefined
  const [row] = isNamed
    ? await query(statements.lock, [usernameKey(whom)])
    : await query(statements.lockById, [whom.id])
  return row
}

/**
 * Who signs in by this text: whose verified address it is, before whose user name it is. Who called themselves as somebody's address
 * would else stand in their way (docs/adr/0048-the-address-before-the-name.md).
 * @internal
 */
export async function findRowToSignIn(database: Database, text: string): Promise<UserRow | undefined> {
  const key = usernameKey(text)
  if (key === null || !key.includes('@')) return findRowByName(database, text)
  const rows = await database.query(statements.byNameOrEmail, [addressForms(text), key])
  // In the spelling that is theirs alone: guesses are counted for what was typed.
  return rows.find((row) => isSpelt(row, text)) ?? rows.find(({ username }) => usernameKey(username) === key)
}

/** Whether the verified address of the row is written as this, but for upper and lower case. */
function isSpelt(row: UserRow, address: string): boolean {
  const { email } = row.claims
  return emailKeyOf(row) !== null && typeof email === 'string' && usernameKey(email) === usernameKey(address)
}

/**
 * Whose verified address this is, in any spelling. Of several, who verified one address in several spellings before they were one,
 * it is the one who spells it so.
 */
async function findRowByAddress(database: Database, address: string): Promise<UserRow | undefined> {
  const rows = await findHolders(database.query, address)
  return rows.length === 1 ? rows[0] : rows.find((row) => isSpelt(row, address))
}

/** @internal */
export function createUserLists({ query }: Pick<Database, 'query'>): UserLists {
  return {
    list: async ({ after = '', limit = 100 } = {}) =>
      (await query(statements.list, [usernameKey(after) ?? '', limit])).map(toUser),
    page: async ({ offset, limit }) => (await query(statements.page, [offset, limit])).map(toUser),
    count: async () => (await query(statements.count, []))[0]!.count,
    async search(begin, { after = { at: '', id: NIL }, limit = 100 } = {}) {
      const key = usernameKey(begin)
      if (key === null) return { found: [], next: null }
      const read = async ({ at, id }: Place, most: number) =>
        query(statements.search, [begin, most, key, at, isUuid(id) ? id : NIL])
      const { found, next } = await readPage(read, { after, limit })
      return { found: found.map(toUser), next }
    },
  }
}

/** @internal */
export function createUserFinder(database: Database): UserFinder {
  return {
    async find(username) {
      const row = await findRowByName(database, username)
      return row === undefined ? null : toUser(row)
    },
    async findByEmail(address) {
      const row = await findRowByAddress(database, address)
      return row === undefined ? null : toUser(row)
    },
    async get(id) {
      const row = await findUserRow(database, id)
      if (row === null) throw userError('id', 'is not registered')
      return toUser(row)
    },
    ...createUserLists(database),
    hasRole: async (role) => (await database.query(roles.hasRole, [role]))[0]?.found ?? false,
  }
}
