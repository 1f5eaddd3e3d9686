/** That a verified address is one user's: the index says so, whoever comes at once, and `toRefusal` makes a sentence of it. */
import { reason } from '../../protocol/message.ts'
import { userError, type UserMembers } from '../../protocol/user-members.ts'
import { isDuplicate } from '../../store/failures.ts'
import type { Query } from '../../store/statement.ts'
import { statements, type UserRow } from '../../store/users.ts'
import { emailKeyOf } from './user.ts'

/**
 * Of a row that this transaction has written.
 * @internal
 */
export async function claimAddress(query: Query, row: UserRow, claims: UserMembers['claims']): Promise<void> {
  if ('email' in claims || 'email_verified' in claims)
    await query(statements.claimEmail, [row.id, emailKeyOf(row)])
}

/** @internal */
export function isOfAddress(error: unknown): boolean {
  return isDuplicate(error) && (error as { constraint?: string }).constraint === 'users_email_key_unique'
}

/** @internal */
export function toRefusal(error: unknown): unknown {
  return isOfAddress(error) ? userError('email', reason('is the verified address of another user')) : error
}
