/** Doing without a password: for who has another way to sign in. */
import { isUuid } from '../../protocol/uuid.ts'
import { recordChange } from '../../store/changes.ts'
import { statements as artifacts } from '../../store/artifacts.ts'
import { statements as recordStatements } from '../../store/user-records.ts'
import { statements } from '../../store/users.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import { PASSWORD_RESET } from './user-changes.ts'
import { lastWayIn, type UserRecordKeeper } from './user-records.ts'

export interface PasswordRemoval {
  /**
   * Takes the password from a user, with the links by which they could set one; their sessions go on. False where there is none. Throws `OAuthError` (`invalid_request`) where it is the
   * last way in that they have, whoever else takes another at the same moment.
   */
  removePassword(userId: string): Promise<boolean>
}

/** @internal */
export interface PasswordRemovalOptions {
  audit: AuditTrail
  feed: ChangeFeed
  records: Pick<UserRecordKeeper, 'waysInBy'>
}

/** @internal */
export function createPasswordRemoval({ audit, feed, records }: PasswordRemovalOptions): PasswordRemoval {
  return {
    async removePassword(userId) {
      if (!isUuid(userId)) return false
      const isRemoved = await audit.transaction(async (query, note) => {
        await query(recordStatements.lockUser, [userId])
        if ((await query(statements.removePassword, [userId])).length === 0) return false
        if ((await records.waysInBy(query, userId)).length === 0) throw lastWayIn()
        // Those from before they had one would be good again: they replace none.
        await query(artifacts.deleteOwnedOfKind, [userId, PASSWORD_RESET])
        note({ type: 'user.password_removed', user: userId, details: {} })
        await recordChange(query, 'user', userId)
        return true
      })
      if (isRemoved) await feed.announce('user', userId)
      return isRemoved
    },
  }
}
