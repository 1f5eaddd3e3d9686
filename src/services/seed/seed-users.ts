/** Users of SEED_FILE, by the rules of the registry, many at a time. */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyBaseLogger } from 'fastify'
import { changesBetween } from '../../protocol/changes.ts'
import { addressForms } from '../../protocol/mail-address.ts'
import { assertRoleNames } from '../../protocol/role-name.ts'
import { parseUserMembers, userError } from '../../protocol/user-members.ts'
import { usernameKey } from '../../protocol/username.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { statements as sets, type UserSetRow } from '../../store/user-sets.ts'
import { statements, type UserRow } from '../../store/users.ts'
import type { Note } from '../audit/audit.ts'
import type { HashChosen } from '../users/chosen-passwords.ts'
import type { Passwords } from '../users/passwords.ts'
import { touchGroups } from '../users/role-changes.ts'
import { emailKeyOf } from '../users/user.ts'
import { endWithPassword, membersOf, noteChanges } from '../users/user-changes.ts'
import { at, warnUnknown, type Placed } from './seed-file.ts'
import type { Change, SeededKind, Wanted } from './seeded-kind.ts'

export interface SeedUsersOptions {
  database: Database
  passwords: Passwords
  hashChosen: HashChosen
}

/** What the entries say. Throws `ConfigError`. */
export function wantedUsers(entries: readonly Placed[], log: FastifyBaseLogger): Wanted[] {
  return entries.map(({ place, entry }) =>
    at(place, () => {
      const { username, password, roles, claims, unknown } = parseUserMembers(entry)
      if (username === undefined) throw userError('username', 'is missing')
      warnUnknown(unknown, 'users', log)
      const members = {
        username,
        ...(password === undefined ? {} : { password }),
        ...(roles === undefined ? {} : { roles }),
        ...claims,
      }
      return { key: usernameKey(username)!, place, members }
    }),
  )
}

export function seededUsers({
  database,
  passwords,
  hashChosen,
}: SeedUsersOptions): SeededKind<UserSetRow, Change<UserSetRow>> {
  return {
    kind: 'user',
    section: 'users',
    kept: ({ passwordHash }) => (passwordHash ? ['password', 'roles'] : ['roles']),
    unordered: ['roles'],
    since: ({ createdAt }) => createdAt,
    present: async (keys) => database.query(sets.present, [keys]),
    async lock(query, wanted) {
      const rows = await query(sets.lock, [wanted.map(({ key }) => key)])
      return new Map(rows.map((row) => [row.usernameKey, row]))
    },
    secret: {
      name: 'password',
      async hash(value, row, { key, members }) {
        const password = value as string
        const roles = (members['roles'] ?? row?.roles) as readonly string[] | undefined
        const stored = row?.passwordHash ?? null
        if (stored !== null && (await passwords.verify(password, stored))) return undefined
        return hashChosen(password, { username: key, roles, seeded: true })
      },
    },
    basis: ({ row }) => row?.passwordHash ?? '',
    make(change) {
      assertRoleNames(parseUserMembers(change.members).roles, change.row?.roles)
      return isAsItIs(change) ? undefined : change
    },
    store,
  }
}

function isAsItIs({ row, members, hash }: Change<UserSetRow>): boolean {
  if (row === undefined || hash !== undefined) return false
  const { roles, claims } = parseUserMembers(members)
  return (
    (roles === undefined || isDeepStrictEqual(roles, row.roles)) &&
    Object.entries(claims).every(([name, value]) => isDeepStrictEqual(value, row.claims[name] ?? null))
  )
}

async function store(
  query: Query,
  note: Note,
  made: readonly Change<UserSetRow>[],
): Promise<readonly string[]> {
  const added = made.filter(({ row }) => row === undefined)
  const ids = added.length === 0 ? [] : await insert(query, note, added)
  for (const change of made)
    if (change.row !== undefined) ids.push(await lay(query, note, change, change.row))
  return ids
}

async function insert(query: Query, note: Note, added: readonly Change<UserSetRow>[]): Promise<string[]> {
  const users = added.map(({ wanted, members, hash }) => {
    const { username, roles = [], claims } = parseUserMembers(members)
    const known = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null))
    return {
      id: randomUUID(),
      username,
      usernameKey: wanted.key,
      passwordHash: hash ?? null,
      roles,
      claims: known,
    }
  })
  const rows = await query(sets.insert, [JSON.stringify(users)])
  await claimAddresses(query, rows)
  for (const row of rows)
    note({ type: 'user.registered', user: row.id, details: { changes: changesBetween({}, membersOf(row)) } })
  await touchGroups(query, [], rows.flatMap(({ roles }) => roles)) // prettier-ignore
  return rows.map(({ id }) => id)
}

/** Lays members over those of a user, whose row this transaction has locked. */
async function lay(
  query: Query,
  note: Note,
  { members, hash }: Change<UserSetRow>,
  before: UserSetRow,
): Promise<string> {
  const { roles, claims } = parseUserMembers(members)
  const [after] = await query(statements.update, [before.id, claims, roles ?? null, hash ?? null])
  if (after !== undefined && ('email' in claims || 'email_verified' in claims))
    await claimAddresses(query, [after])
  noteChanges(note, before, after ?? before)
  if (hash !== undefined) await endWithPassword(query, note, before.id)
  await touchGroups(query, before.roles, after?.roles ?? before.roles)
  return before.id
}

/** A start is not stopped for an address that is already somebody's: it is no name then, and `doctor` says so. */
async function claimAddresses(query: Query, rows: readonly UserRow[]): Promise<void> {
  const keys = rows.map((row) => [row.id, emailKeyOf(row)] as const)
  const given = Map.groupBy(keys, ([, key]) => key)
  const held = Map.groupBy(await holdersInOtherForms(query, rows), emailKeyOf)
  const own = keys
    // Who has it in another form keeps that.
    .filter(([id, key]) => !held.get(key)?.some((one) => one.id === id))
    .map(([id, key]) => [id, given.get(key)!.length > 1 || held.has(key) ? null : key] as const)
  await query(statements.claimEmails, [own.map(([id]) => id), own.map(([, key]) => key)])
}

/** Of addresses that may be stored in several forms, those who have one of them. */
async function holdersInOtherForms(query: Query, rows: readonly UserRow[]): Promise<UserRow[]> {
  const forms = rows
    .filter((row) => emailKeyOf(row) !== null)
    .map((row) => addressForms(row.claims['email'] as string))
    .filter(({ length }) => length > 1)
  return forms.length === 0 ? [] : query(statements.byEmail, [forms.flat()])
}
