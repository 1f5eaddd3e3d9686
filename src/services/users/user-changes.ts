/** What every change of a user does beside the row: what it ends, and what the audit log is told of it. */
import { statements as artifacts } from '../../store/artifacts.ts'
import { statements as auditEvents } from '../../store/audit-events.ts'
import { recordChange } from '../../store/changes.ts'
import { endEverything } from '../../store/endings.ts'
import type { Query } from '../../store/statement.ts'
import { statements, type UserRow } from '../../store/users.ts'
import type { Note } from '../audit/audit.ts'

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
 * Forgets a user, whose row this transaction has locked, with all that is theirs. What is theirs goes before them, so that nothing begins
 * meanwhile; the audit log goes on naming them by their id, and by nothing else.
 * @internal
 */
export async function forget(query: Query, note: Note, id: string): Promise<void> {
  const clients = await endEverything(query, id, 'user deleted')
  await query(statements.delete, [id])
  await query(artifacts.deleteOwned, [id])
  await query(auditEvents.forgetUser, [id])
  note({ type: 'user.deleted', user: id, details: { clients } })
  await recordChange(query, 'user', id)
}
