/** What waits for one recipient and is given up together: whose time is over, who is gone, and what is more than may wait. One line tells how many. */
import type { FastifyBaseLogger } from 'fastify'
import type { RecipientGone } from '../../doors/outbound.ts'
import type { Database } from '../../store/database.ts'
import { statements as outbox } from '../../store/outbox.ts'
import { statements } from '../../store/recipients.ts'
import type { Query } from '../../store/statement.ts'
import type { AuditTrail } from '../audit/audit.ts'

export interface Addressed {
  readonly kind: string
  /** Empty for nobody in particular, of whom nothing is known. */
  readonly recipient: string
}

export interface GivingUp {
  /** What nobody has tried in its time, since its recipient rested. */
  over(of: Addressed, reason: string): Promise<void>
  /** All that waits for who is gone, as the attempt at the one of this id has found out. */
  gone(of: Addressed & { readonly id: string }, error: RecipientGone): Promise<void>
  /** The oldest of what waits for a recipient of whom more waits than may: how many, 0 where there is no more. */
  excess(): Promise<number>
}

/** What may wait, for one recipient, by default. The oldest are given up, as they would be next when their day is over; a change is refused for none. */
export const MOST_WAITING = 100_000
/** Rows of one statement: of those that rest, of all that a recipient has. */
const BATCH = 500
const LARGE_BATCH = 5000

export interface GivingUpOptions {
  database: Database
  audit: AuditTrail
  log: FastifyBaseLogger
  /** What may wait, for one recipient. */
  mostWaiting: number
}

export function createGivingUp({ database, audit, log, mostWaiting }: GivingUpOptions): GivingUp {
  async function once({ kind }: Addressed, work: (query: Query) => Promise<readonly unknown[]>) {
    return audit.transaction(async (query, note) => {
      const { length: count } = await work(query)
      if (count > 0) note({ type: 'delivery.given_up', details: { kind, count } })
      return count
    })
  }

  async function all(of: Addressed, batch: number, work: (query: Query) => Promise<readonly unknown[]>) {
    for (let count = 0; ;) {
      const some = await once(of, work)
      count += some
      if (some < batch) return count
    }
  }

  return {
    async over({ kind, recipient }, reason) {
      const values = [BATCH, kind, recipient, reason]
      const count = await all({ kind, recipient }, BATCH, async (query) => query(outbox.giveUpOver, values))
      if (count > 0) log.error({ kind, recipient, count }, 'deliveries are given up')
    },
    async gone({ id, kind, recipient }, { message: reason, enqueuedBefore }) {
      const values = [LARGE_BATCH, kind, recipient, reason, new Date(enqueuedBefore), id]
      const work = async (query: Query) => query(outbox.giveUpGone, values)
      const count = await all({ kind, recipient }, LARGE_BATCH, work)
      if (count > 0)
        log.error({ kind, recipient, count, reason }, 'deliveries are given up: their recipient is gone')
    },
    async excess() {
      const [most] = await database.query(statements.waitsInExcess, [mostWaiting])
      if (most === undefined) return 0
      const reason = `more than ${mostWaiting} waited for the same recipient`
      const values = [LARGE_BATCH, most.kind, most.recipient, reason, mostWaiting]
      const count = await once(most, async (query) => query(outbox.giveUpExcess, values))
      if (count > 0) log.error({ ...most, count }, `deliveries are given up, the oldest first: ${reason}`)
      return count
    },
  }
}
