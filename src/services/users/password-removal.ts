/** Doing without a password: for who has another way to sign in. */
import { isUuid } from '../../protocol/uuid.ts'
import { statements as recordStatements } from '../../store/user-records.ts'
import { statements } from '../../store/users.ts'
import { endMailedLinks } from './mailed-link-ends.ts'
import type { UserChange } from './user-changes.ts'
import { lastWayIn, type UserRecordKeeper } from './user-records.ts'

export interface PasswordRemoval {
  /**
   * Takes the password from a user, with the links by which they could set one; their sessions go on. False where there is none. Throws `OAuthError` (`invalid_request`) where it is the
   * last way in that they have, whoever else takes another at the same moment.
   */
  removePassword(userId: string): Promise<boolean>
}

/** @internal */
export function createPasswordRemoval(
  changeUser: UserChange,
  records: Pick<UserRecordKeeper, 'waysInBy'>,
): PasswordRemoval {
  return {
    async removePassword(userId) {
      if (!isUuid(userId)) return false
      const removed = await changeUser(async (query, note) => {
        await query(recordStatements.lockUser, [userId])
        if ((await query(statements.removePassword, [userId])).length === 0) return undefined
        if ((await records.waysInBy(query, userId)).length === 0) throw lastWayIn()
        // Those from before they had one would be good again: they replace none.
        await endMailedLinks(query, userId)
        note({ type: 'user.password_removed', user: userId, details: {} })
        return { id: userId }
      })
      return removed !== undefined
    },
  }
}
