/** Brings one translated user into the registry. */
import { isDeepStrictEqual } from 'node:util'
import { parseUserMembers, type UserMembers } from '../protocol/user-members.ts'
import { addressKey } from '../protocol/mail-address.ts'
import type { User } from '../services/users/user.ts'
import type { ImportedUser } from '../services/users/update-options.ts'
import type { UserRegistry } from '../services/users/user-registry.ts'
import type { Applied, ImportContext } from './context.ts'
import { translateUser } from './django-user.ts'
import type { DumpRecord } from './dump.ts'

type Claims = UserMembers['claims']

export async function applyUser({ fields }: DumpRecord, { users, options }: ImportContext): Promise<Applied> {
  const { members, imported, notes } = translateUser(fields, options.admins)
  const { username = '', roles = [], claims } = parseUserMembers(members)
  const found = await users.find(username)
  if (found === null) {
    if (!options.dryRun) await users.create(members, imported)
    return { action: 'create', notes }
  }
  if (!options.update) return { action: 'keep', notes: ['is here already'] }
  if (found.deletesAt !== null) return { action: 'keep', notes: ['has asked to be deleted'] }
  if (found.disabled && !imported.disabled) notes.push('is disabled here, and stays so')
  const wanted = { ...exceptAddressOf(found, claims), roles: [...new Set([...found.roles, ...roles])] }
  if (!(await differs(found, wanted, imported, users))) return { action: 'keep', notes }
  if (!options.dryRun) await users.update(username, wanted, imported)
  return { action: 'update', notes }
}

/** Their own address stays as it is, also confirmed: the file does not know whether it is. */
function exceptAddressOf(found: User, claims: Claims): Claims {
  const { email, email_verified: _unknown, ...others } = claims
  const isTheirs = keyOf(email) !== null && keyOf(email) === keyOf(found.claims['email'])
  return isTheirs ? others : claims
}

const keyOf = (email: unknown): string | null => (typeof email === 'string' ? addressKey(email) : null)

/** Whether an update would change anything. */
async function differs(
  found: User,
  { roles, ...claims }: Readonly<Record<string, unknown>>,
  { passwordHash, disabled = false }: ImportedUser,
  users: UserRegistry,
): Promise<boolean> {
  return (
    !isDeepStrictEqual(roles, [...found.roles]) ||
    Object.entries(claims).some(([name, value]) => !isDeepStrictEqual(value, found.claims[name])) ||
    (disabled && !found.disabled) ||
    (passwordHash !== undefined && (await users.takesPassword(found.username, passwordHash)))
  )
}
