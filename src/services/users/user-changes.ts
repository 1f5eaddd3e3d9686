/** What every change of a user does beside the row: what it ends, and what the audit log is told of it. */
import type { Query } from '../../store/statement.ts'
import { endEverything } from '../../store/endings.ts'
import type { UserRow } from '../../store/users.ts'
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
