/** Who is in a group, as part of a change of it: found, locked before any of them is changed, given the role and relieved of it. */
import { memberError } from '../../protocol/errors.ts'
import { MOST_ROLES } from '../../protocol/user-members.ts'
import { isUuid } from '../../protocol/uuid.ts'
import type { Query } from '../../store/statement.ts'
import { statements as users } from '../../store/user-roles.ts'
import type { Note } from '../audit/audit.ts'
import { noteRoles } from './role-changes.ts'

/** Ids of users. */
export interface MembersChange {
  /** All of them, in the place of those before. */
  readonly members?: readonly string[]
  readonly added?: readonly string[]
  readonly removed?: readonly string[]
}

/** What no role is called. */
const NO_ROLE = ''

/** The ids of those whose roles it changed. @internal */
export async function setMembers(
  query: Query,
  note: Note,
  role: string,
  { members, added = members ?? [], removed = [] }: MembersChange,
): Promise<readonly string[]> {
  const wanted = await knownUsers(query, added)
  const given = await query(users.giveRole, [wanted, role])
  if (given.some(({ roles }) => roles.length > MOST_ROLES)) throw haveTooMany()
  const lost =
    members === undefined
      ? await query(users.takeRole, [removed.filter(isUuid), role])
      : await query(users.takeRoleFromOthers, [wanted, role])
  return noteRoles(note, [...given, ...lost])
}

/**
 * Before any of them is changed, with all who have the role where `members` are said: of two changes that have the same users, one waits here.
 * @internal
 */
export async function lockMembers(
  query: Query,
  role: string,
  { members, added = [], removed = [] }: MembersChange,
): Promise<void> {
  const ids = [...(members ?? []), ...added, ...removed].filter(isUuid)
  await query(users.lockThose, [ids, members === undefined ? NO_ROLE : role])
}

/** Each once. Throws `invalid_request` for one that is of no user, or has too many roles to get `role`. @internal */
export async function knownUsers(
  query: Query,
  ids: readonly string[],
  role?: string,
): Promise<readonly string[]> {
  const asked = [...new Set(ids)]
  if (asked.length === 0) return []
  const found = await query(users.known, [asked.filter(isUuid)])
  if (found.length < asked.length) throw membersError('must be users here')
  const others = found.filter(({ roles }) => role !== undefined && !roles.includes(role))
  if (others.some(({ roles }) => roles.length >= MOST_ROLES)) throw haveTooMany()
  return asked
}

const membersError = (reason: string) => memberError('invalid_request', 'members', reason)
const haveTooMany = () => membersError(`must have ${MOST_ROLES} roles at most`)
