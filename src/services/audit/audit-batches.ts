/** Events that are stored behind the request, a second's at a time, and how often what happened. */
import type { FastifyBaseLogger } from 'fastify'
import type { AuditEvent, NewEvent } from '../../events.ts'
import { statements } from '../../store/audit-events.ts'
import type { Database } from '../../store/database.ts'
import { isMisfit } from '../../store/failures.ts'
import { createActivityCounts } from './activity-counts.ts'
import { toRow } from './audit-row.ts'
import { createMergedEvents, type Room } from './merged-events.ts'

export interface AuditBatches {
  add(event: NewEvent): void
  /** For the pictures of the last day alone. */
  count(type: string): void
  start(): void
  stop(): Promise<void>
}

/** Whether each token that is issued names its Authorization, or no more of them than of anything else. */
export type TokensTold = 'each' | 'merged'

const INTERVAL = 1000
const ROOM: Room = { detailed: 200, byClient: 2000 }
/**
 * Strangers cannot fill this: each of these rows has an Authorization, a code or a refresh token that was written for it. More
 * than a process issues in a second, so that no token loses its own.
 */
const ROOM_FOR_EACH: Room = { detailed: 10_000, byClient: 12_000 }
/** Rows that wait while the database is away. */
const MAX_WAITING = 20_000
const CHUNK = 500

export function createAuditBatches(
  database: Database,
  log: FastifyBaseLogger,
  tokens: TokensTold,
): AuditBatches {
  /** Apart, so that neither of a busy hour's tokens and what is refused meanwhile takes the other's room. */
  const issued = createMergedEvents(tokens === 'each' ? ROOM_FOR_EACH : ROOM)
  const others = createMergedEvents(ROOM)
  const counts = createActivityCounts(database)
  let waiting: AuditEvent[] = []
  let lost = 0
  let failing = false
  let timer: NodeJS.Timeout | undefined
  let flushing = Promise.resolve()

  function add(event: NewEvent): void {
    counts.add(event.type)
    const merged = event.type === 'token.issued' ? issued : others
    merged.add(event)
  }

  function collect(): void {
    for (const { event, count: times } of [...others.take(), ...issued.take()]) {
      if (waiting.length < MAX_WAITING)
        waiting.push(times === 1 ? event : { ...event, count: times, requestId: null })
      else lost += times
    }
  }

  /** One that PostgreSQL never takes, as a plugin's with a NUL in it, is left out: it would keep all others back for ever. */
  async function store(events: readonly AuditEvent[]): Promise<void> {
    try {
      await database.query(statements.insert, [JSON.stringify(events.map(toRow))])
    } catch (error) {
      if (!isMisfit(error)) throw error
      const [first] = events
      if (events.length === 1 && first !== undefined) {
        log.error({ err: error, event: first.type }, 'an audit event cannot be stored, and is left out')
        return
      }
      const half = Math.ceil(events.length / 2)
      await store(events.slice(0, half))
      await store(events.slice(half))
    }
  }

  async function flush(): Promise<void> {
    collect()
    while (waiting.length > 0) {
      const chunk = waiting.slice(0, CHUNK)
      await store(chunk)
      waiting = waiting.slice(chunk.length)
    }
    await counts.store()
  }

  async function flushAndReport(): Promise<void> {
    try {
      await flush()
      if (lost > 0) log.error({ lost }, 'audit events were lost while the database was away')
      failing = false
      lost = 0
    } catch (error) {
      if (!failing) log.warn({ err: error }, 'audit events could not be stored; this is tried again')
      failing = true
    }
  }

  return {
    add,
    count: counts.add,
    start() {
      timer = setInterval(() => {
        flushing = flushing.then(flushAndReport)
      }, INTERVAL).unref()
    },
    async stop() {
      clearInterval(timer)
      flushing = flushing.then(flushAndReport)
      await flushing
      const left = waiting.reduce((sum, { count: times }) => sum + times, lost)
      if (left > 0) log.error({ lost: left }, 'audit events are lost, since the database is away')
    },
  }
}
