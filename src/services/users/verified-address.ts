/** That a verified address is one user's: the index says so, whoever comes at once, and `toRefusal` makes a sentence of it. */
import { OAuthError } from '../../protocol/errors.ts'
import { addressKey, addressForms } from '../../protocol/mail-address.ts'
import { reason } from '../../protocol/message.ts'
import { userError, type UserMembers } from '../../protocol/user-members.ts'
import { isDuplicate } from '../../store/failures.ts'
import type { Query } from '../../store/statement.ts'
import { statements, type UserRow } from '../../store/users.ts'
import { emailKeyOf } from './user.ts'

/**
 * Whose verified address it is, in any spelling: several, where they verified it in several before those were one.
 * @internal
 */
export async function findHolders(query: Query, address: string): Promise<UserRow[]> {
  const key = addressKey(address)
  const rows = key === null ? [] : await query(statements.byEmail, [addressForms(address)])
  return rows.filter((row) => emailKeyOf(row) === key)
}

/**
 * Of a row that this transaction has written.
 * @internal
 */
export async function claimAddress(query: Query, row: UserRow, claims: UserMembers['claims']): Promise<void> {
  if (!('email' in claims || 'email_verified' in claims)) return
  const key = emailKeyOf(row)
  if (key !== null && addressForms(row.claims['email'] as string).length > 1) {
    const holders = await findHolders(query, row.claims['email'] as string)
    // They have it in the form of an earlier version, by which it is found.
    if (holders.some(({ id }) => id === row.id)) return
    if (holders.length > 0) throw addressTaken()
  }
  await query(statements.claimEmail, [row.id, key])
}

/** @internal */
export function isOfAddress(error: unknown): boolean {
  if (error instanceof OAuthError) return taken.has(error)
  return isDuplicate(error) && (error as { constraint?: string }).constraint === 'users_email_key_unique'
}

/** @internal */
export function toRefusal(error: unknown): unknown {
  return isOfAddress(error) ? addressTaken() : error
}

const taken = new WeakSet<OAuthError>()

function addressTaken(): OAuthError {
  const error = userError('email', reason('is the verified address of another user'))
  taken.add(error)
  return error
}
