/** Reads the audit log, the newest first: by the page, by what is looked for, and as counts of the last day. */
import type { AuditEvent } from '../../events.ts'
import { firstUuidAt } from '../../protocol/uuid.ts'
import { statements, WINDOW, type FoundRow } from '../../store/audit-events.ts'
import type { Database } from '../../store/database.ts'
import type { Statement } from '../../store/statement.ts'
import { fromRow } from './audit-row.ts'

/** All of them must hold. */
export interface AuditFilter {
  /** One of them, where there are several. */
  type?: string | readonly string[] | undefined
  /** A user's id: events about them, or by them. */
  user?: string | undefined
  /** A client_id: events about it, or by it. */
  client?: string | undefined
  requestId?: string | undefined
  /** Milliseconds since the epoch: from, and before. */
  since?: number | undefined
  until?: number | undefined
}

export interface AuditPage {
  readonly events: readonly AuditEvent[]
  /** For `before`, to go on; null at the end. A page may have fewer events than were asked for, or none, and go on. */
  readonly next: string | null
}

export interface AuditLog {
  /** At most `limit` (50); one page reads a bounded number of rows, whatever the filter. */
  list(filter?: AuditFilter, page?: { before?: string | undefined; limit?: number }): Promise<AuditPage>
  /** How often what happened, by the hour, since `since` (milliseconds since the epoch). */
  activity(since: number): Promise<{ hour: number; type: string; count: number }[]>
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const END = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
/** The last instant that 48 bits hold, in milliseconds. */
const LAST_INSTANT = 2 ** 48 - 1

/** @internal */
export function createAuditLog(database: Pick<Database, 'query'>): AuditLog {
  return {
    async list(filter = {}, { before = END, limit = 50 } = {}) {
      const { type, user = null, client = null, requestId = null, since, until } = filter
      const { statement, driver } = driverOf(filter)
      const bounds = [before, ...(until === undefined ? [] : [idAt(until)])].filter((id) => UUID.test(id))
      const values = [
        driver,
        bounds.toSorted()[0] ?? END,
        idAt(since ?? 0),
        limit,
        type === undefined ? null : [type].flat(),
        user,
        client,
        requestId,
      ]
      const rows = await database.query(statement, values)
      const events = rows.flatMap((row) => (row.id === null ? [] : [fromRow(row)]))
      const [{ looked, reached }] = rows as [FoundRow]
      const last = events.length === limit ? (events.at(-1)?.id ?? null) : looked === WINDOW ? reached : null
      return { events, next: last }
    },
    async activity(since) {
      const rows = await database.query(statements.activity, [new Date(since)])
      return rows.map(({ hour, ...row }) => ({ ...row, hour: hour.getTime() }))
    },
  }
}

function idAt(instant: number): string {
  return firstUuidAt(Math.min(Math.max(0, Math.floor(instant)), LAST_INSTANT))
}

/** The index that leaves least to look at. */
function driverOf({ type, user, client, requestId }: AuditFilter): {
  statement: Statement<FoundRow>
  driver: string | null
} {
  if (requestId !== undefined) return { statement: statements.listByRequest, driver: requestId }
  if (user !== undefined) return { statement: statements.listByUser, driver: user }
  if (client !== undefined) return { statement: statements.listByClient, driver: client }
  if (typeof type === 'string') return { statement: statements.listByType, driver: type }
  return { statement: statements.listAll, driver: null }
}
