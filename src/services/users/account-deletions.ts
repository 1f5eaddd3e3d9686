/**
 * People who delete their own accounts: at once everything of theirs ends, and they can do no more than keep the account; when the grace is
 * over, it is forgotten. Whose account is how, stands in their row alone (`deletion_due_at`), beside whether they are disabled.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Enqueued } from '../../doors/outbound.ts'
import { reason } from '../../protocol/message.ts'
import { userError } from '../../protocol/user-members.ts'
import { isUuid } from '../../protocol/uuid.ts'
import { statements as consents } from '../../store/consents.ts'
import type { Database } from '../../store/database.ts'
import { endEverything } from '../../store/endings.ts'
import { statements, type DueRow } from '../../store/users.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { OutboxTrail } from '../outbox/outbox.ts'
import { assertKept, lockHolders } from './last-of-a-role.ts'
import { forget, type UserChange } from './user-changes.ts'
import { ADMIN, toUser, type User } from './user.ts'

export interface AccountDeletions {
  /**
   * Ends every session, code, Authorization and consent of the user, who is deleted after so many seconds. Throws `OAuthError`
   * (`invalid_request`) for the last administrator who may sign in, and for who may not, or has asked before.
   */
  request(userId: string, grace: number): Promise<User>
  /** They are not deleted; what was ended stays ended. False where nobody asked for it. */
  cancel(userId: string): Promise<boolean>
  /** Deletes a few of those who are due; how many that was. One that fails is logged, and left to the next time. */
  deleteDue(): Promise<number>
  /** What is stored with each such deletion, to be told when nobody knows them any more. Register it while the server starts. */
  onFarewell(tell: (user: User) => readonly Enqueued[]): void
}

/** @internal */
export interface AccountDeletionsOptions {
  database: Database
  changeUser: UserChange
  feed: ChangeFeed
  outbox: Pick<OutboxTrail, 'enqueueBy' | 'announce'>
  log: FastifyBaseLogger
}

/** At a time. */
const BATCH = 20

/** @internal */
export function createAccountDeletions(options: AccountDeletionsOptions): AccountDeletions {
  const { database, changeUser, feed, outbox, log } = options
  const farewells: ((user: User) => readonly Enqueued[])[] = []

  async function cancel(userId: string): Promise<boolean> {
    if (!isUuid(userId)) return false
    const cancelled = await changeUser(async (query, note) => {
      if ((await query(statements.cancelDeletion, [userId])).length === 0) return undefined
      note({ type: 'user.deletion_cancelled', user: userId, details: {} })
      return { id: userId }
    })
    // Whoever asks has seen it otherwise here.
    if (cancelled === undefined) await feed.announce('user', userId)
    return cancelled !== undefined
  }

  /** Holders first, then the user's row, as all changes do. False where it is not due any more. */
  async function deleteOne(id: string): Promise<boolean> {
    let isTold = false
    const over = await changeUser(async (query, note) => {
      const others = await lockHolders(query, ADMIN)
      const [row] = await query(statements.lockDue, [id])
      if (row === undefined) return undefined
      if (row.roles.includes(ADMIN) && !row.disabledAt && others.length === 0) {
        await query(statements.cancelDeletion, [id])
        note({ type: 'user.deletion_cancelled', user: id, details: { reason: 'last administrator' } })
        return row
      }
      const user = toUser(row)
      isTold = await outbox.enqueueBy(
        query,
        farewells.flatMap((tell) => tell(user)),
      )
      await forget(query, note, row)
      return row
    })
    if (isTold) await outbox.announce()
    return over !== undefined
  }

  /** How many of them that was. */
  async function deleteEach(due: readonly DueRow[]): Promise<number> {
    let deleted = 0
    for (const { id } of due)
      try {
        if (await deleteOne(id)) deleted++
      } catch (error) {
        log.warn({ err: error, user: id }, 'an account that is due could not be deleted; this is tried again')
      }
    return deleted
  }

  return {
    cancel,
    async request(userId, grace) {
      const row = await changeUser(async (query, note) => {
        const holders = await lockHolders(query, ADMIN)
        const [changed] = isUuid(userId) ? await query(statements.beginDeletion, [userId, grace]) : []
        if (changed === undefined) throw userError('id', reason('is nobody who may sign in'))
        assertKept(ADMIN, holders, userId)
        const clients = await endEverything(query, userId, 'deletion requested')
        await query(consents.forgetAll, [userId])
        const due = Math.floor(changed.deletionDueAt!.getTime() / 1000)
        note({ type: 'user.deletion_requested', user: userId, details: { due, clients } })
        return changed
      })
      return toUser(row)
    },
    async deleteDue() {
      // Behind those that fail there may be others.
      for (let last: DueRow | undefined; ;) {
        const due = await database.query(statements.due, [BATCH, last?.at ?? null, last?.id ?? null])
        const deleted = await deleteEach(due)
        if (deleted > 0 || due.length < BATCH) return deleted
        last = due.at(-1)
      }
    },
    onFarewell: (tell) => void farewells.push(tell),
  }
}
