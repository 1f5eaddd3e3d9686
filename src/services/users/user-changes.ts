/** Changes of users: how each is told to every process, and as parts of a transaction, what it ends and what the audit log is told of it. */
import { changesBetween } from '../../protocol/changes.ts'
import { statements as artifacts } from '../../store/artifacts.ts'
import { statements as auditEvents } from '../../store/audit-events.ts'
import { recordChange } from '../../store/changes.ts'
import { endEverything } from '../../store/endings.ts'
import type { Query } from '../../store/statement.ts'
import { statements, type UserRow } from '../../store/users.ts'
import type { AuditTrail, Note } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import { assertKept, lockHolders, type Kept } from './last-of-a-role.ts'
import { endMailedLinks } from './mailed-link-ends.ts'
import { touchGroups } from './role-changes.ts'
import { lockRow, type Whom } from './user-finder.ts'

/**
 * Runs a change of one user in a transaction, with its entry in the feed, and applies it here at once. What `work` returns is whom it has changed;
 * undefined is nobody.
 * @internal
 */
export type UserChange = <Changed extends Pick<UserRow, 'id'> | undefined>(
  work: (query: Query, note: Note) => Promise<Changed>,
) => Promise<Changed>

/** @internal */
export function createUserChange(
  audit: Pick<AuditTrail, 'transaction'>,
  feed: Pick<ChangeFeed, 'announce'>,
): UserChange {
  return async (work) => {
    const changed = await audit.transaction(async (query, note) => {
      const row = await work(query, note)
      if (row !== undefined) await recordChange(query, 'user', row.id)
      return row
    })
    if (changed !== undefined) await feed.announce('user', changed.id)
    return changed
  }
}

/**
 * Notes how a user differs from before, with what more there is to tell of it; nothing where they do not.
 * @internal
 */
export function noteChanges(
  note: Note,
  before: UserRow,
  after: UserRow,
  more: { noWayIn?: true } = {},
): void {
  const changes = changesBetween(membersOf(before), membersOf(after))
  if (Object.keys(changes).length > 0)
    note({ type: 'user.changed', user: after.id, details: { changes, ...more } })
}

/**
 * Ends what was before the password that a user, whose row this transaction has locked, has now.
 * @internal
 */
export async function endWithPassword(query: Query, note: Note, id: string): Promise<void> {
  const clients = await endEverything(query, id, 'password changed')
  note({ type: 'user.password_changed', user: id, details: { clients } })
}

/**
 * What of a user an audit event may tell.
 * @internal
 */
export function membersOf({ username, roles, claims, disabledAt }: UserRow): Record<string, unknown> {
  return { username, roles, ...claims, ...(disabledAt ? { disabled: true } : {}) }
}

/**
 * Ends every session, code, Authorization and mailed link of a user, who cannot sign in from then on; undefined where there is none. Throws `OAuthError`
 * (`invalid_request`) for the last who has the role that must be kept.
 * @internal
 */
export async function disable(
  query: Query,
  note: Note,
  whom: Whom,
  { keepOneWith }: Kept = {},
): Promise<UserRow | undefined> {
  const holders = await lockHolders(query, keepOneWith)
  const before = await lockRow(query, whom)
  if (before === undefined) return undefined
  const [row] = await query(statements.disable, [before.id])
  if (row === undefined) return undefined
  if (keepOneWith !== undefined) assertKept(keepOneWith, holders, row.id)
  const clients = await endEverything(query, row.id, 'user disabled')
  await endMailedLinks(query, row.id)
  if (!before.disabledAt) note({ type: 'user.disabled', user: row.id, details: { clients } })
  return row
}

/**
 * What was ended stays ended; undefined where there is no such user.
 * @internal
 */
export async function enable(query: Query, note: Note, whom: Whom): Promise<UserRow | undefined> {
  const before = await lockRow(query, whom)
  if (before === undefined) return undefined
  const [row] = await query(statements.enable, [before.id])
  if (row !== undefined && before.disabledAt) note({ type: 'user.enabled', user: row.id, details: {} })
  return row
}

/**
 * Forgets a user, whose row this transaction has locked, with all that is theirs, as a part of their change. What is theirs goes before them, so that
 * nothing begins meanwhile; the audit log goes on naming them by their id, and by nothing else.
 * @internal
 */
export async function forget(
  query: Query,
  note: Note,
  { id, roles }: Pick<UserRow, 'id' | 'roles'>,
): Promise<void> {
  const clients = await endEverything(query, id, 'user deleted')
  await query(statements.delete, [id])
  await query(artifacts.deleteOwned, [id])
  await query(auditEvents.forgetUser, [id])
  note({ type: 'user.deleted', user: id, details: { clients } })
  await touchGroups(query, roles, [])
}
