/** Deliveries that were given up after a day, for administrators: to be looked at, and tried again. */
import { isUuid, NIL } from '../../protocol/uuid.ts'
import { recordChange } from '../../store/changes.ts'
import type { Database } from '../../store/database.ts'
import { type GivenUpRow, statements } from '../../store/outbox.ts'
import type { Query } from '../../store/statement.ts'
import type { AuditTrail, Note } from '../audit/audit.ts'
import type { OutboxTrail } from './outbox.ts'

/** Instants are milliseconds since the epoch. */
export interface GivenUpDelivery {
  readonly id: string
  readonly kind: string
  /** Empty for nobody in particular. */
  readonly recipient: string
  readonly enqueuedAt: number
  readonly givenUpAt: number
  readonly attempts: number
  /** Why the last one failed; null where nobody tried, since no process delivers this kind. */
  readonly lastError: string | null
}

export interface GivenUpDeliveries {
  /** The last first, 100 at most by default; `next` is for `after`, null at the end. */
  list(page?: {
    after?: string | undefined
    limit?: number
  }): Promise<{ deliveries: readonly GivenUpDelivery[]; next: string | null }>
  /** How many wait to be tried; 501 stands for more. */
  waiting(): Promise<number>
  /** From now on it is tried for another day; false where it was not given up, or there is none. */
  retry(id: string): Promise<boolean>
  /** The same of all, or of all for one recipient; returns how many. */
  retryAll(of?: { readonly kind: string; readonly recipient: string }): Promise<number>
}

const MOST_COUNTED = 501
const BATCH = 500

/** @internal */
export function createGivenUpDeliveries(
  database: Database,
  audit: AuditTrail,
  { announce }: OutboxTrail,
): GivenUpDeliveries {
  async function retry(work: (query: Query, note: Note) => Promise<number>): Promise<number> {
    const retried = await audit.transaction(async (query, note) => {
      const count = await work(query, note)
      if (count > 0) await recordChange(query, 'delivery', '')
      return count
    })
    if (retried > 0) await announce()
    return retried
  }

  return {
    async list({ after = NIL, limit = 100 } = {}) {
      const rows = await database.query(statements.givenUp, [isUuid(after) ? after : NIL, limit + 1])
      const deliveries = rows.slice(0, limit).map(toGivenUp)
      return { deliveries, next: rows.length > limit ? (deliveries.at(-1)?.id ?? null) : null }
    },
    async waiting() {
      const [row] = await database.query(statements.waiting, [MOST_COUNTED])
      return row?.count ?? 0
    },
    retry: async (id) =>
      isUuid(id) &&
      (await retry(async (query, note) => {
        const rows = await query(statements.retry, [id])
        for (const { kind } of rows) note({ type: 'delivery.retried', details: { delivery: id, kind } })
        return rows.length
      })) > 0,
    async retryAll(of) {
      for (let all = 0; ;) {
        const count = await retry(async (query, note) => {
          const rows =
            of === undefined
              ? await query(statements.retryAll, [BATCH])
              : await query(statements.retryOf, [BATCH, of.kind, of.recipient])
          for (const [kind, many] of Map.groupBy(rows, (row) => row.kind))
            note({ type: 'delivery.retried', details: { kind, count: many.length } })
          return rows.length
        })
        all += count
        if (count < BATCH) return all
      }
    },
  }
}

function toGivenUp({ enqueuedAt, triesUntil, lastError = null, ...row }: GivenUpRow): GivenUpDelivery {
  return { ...row, lastError, enqueuedAt: enqueuedAt.getTime(), givenUpAt: triesUntil.getTime() }
}
