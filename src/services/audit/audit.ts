/**
 * Writes the audit log. What changes something is noted in the change's own transaction, so that neither is there
 * without the other; what changes nothing, or happens too often for that, is stored within a second. Then it is told:
 * to the log, and to those who listen.
 */
import type { EntityManager } from '@mikro-orm/postgresql'
import type { FastifyBaseLogger } from 'fastify'
import { AuditEvent as AuditEventEntity } from '../../entities/audit-event.ts'
import type { AuditEvent, EventType, NewEvent } from '../../events.ts'
import { statements } from '../../store/audit-events.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import type { OutboxTrail } from '../outbox/outbox.ts'
import { createAuditBatches, type TokensTold } from './audit-batches.ts'
import { createAuditLog, type AuditLog } from './audit-log.ts'
import { complete, toRow } from './audit-row.ts'
import { assertEventType } from './event-types.ts'

export type Listener<Type extends EventType> = (event: AuditEvent<Type>) => void

export interface Audit extends AuditLog {
  /**
   * What has no transaction of its own: stored within a second, like ones of a second as one row with their `count`.
   * A crash loses that second; a database that is away, what does not fit into memory.
   */
  observe(event: NewEvent): void
  /**
   * From now on `listener` is told of each event of this type that happens in this process, once it is stored, or
   * before that if it was observed. What it throws is logged, and keeps nobody else from hearing. Throws `ConfigError` for a type that
   * looks like a misspelt one of ours.
   */
  on<Type extends EventType>(type: Type, listener: Listener<Type>): void
}

/**
 * Notes what the transaction does; forgotten with it if it fails.
 * @internal
 */
export type Note = (event: NewEvent) => void

/**
 * For the services that change things.
 * @internal
 */
export interface AuditTrail extends Audit {
  /** `work` and what it notes, all or nothing; like `Database.transaction`, it may run again. */
  transaction<T>(work: (query: Query, note: Note) => Promise<T>): Promise<T>
  /** The same by an entity manager. */
  transactional<T>(work: (em: EntityManager, note: Note) => Promise<T>): Promise<T>
  start(): void
  /** Stores what is left. */
  stop(): Promise<void>
}

const NO_OUTBOX: OutboxTrail = {
  follow: async () => false,
  enqueueBy: async () => false,
  followBy: () => false,
  followObserved() {},
  hears: () => false,
  announce: async () => {},
  stop: async () => {},
}

/** @internal */
export function createAudit(
  database: Database,
  log: FastifyBaseLogger,
  tokens: TokensTold = 'each',
  outbox: OutboxTrail = NO_OUTBOX,
): AuditTrail {
  const listeners = new Map<string, Listener<EventType>[]>()
  const batches = createAuditBatches(database, log, tokens)

  function tell(event: AuditEvent): void {
    for (const listener of listeners.get(event.type) ?? []) {
      try {
        listener(event)
      } catch (error) {
        log.error({ err: error, event: event.type }, 'a listener failed')
      }
    }
  }

  function tellStored(events: readonly AuditEvent[]): void {
    for (const event of events) {
      const { type, user, client, actor, requestId } = event
      log.info(
        { event: type, user, client, by: `${actor.kind} ${actor.id ?? ''}`.trim(), id: requestId },
        type,
      )
      batches.count(type)
      tell(event)
    }
  }

  return {
    ...createAuditLog(database),
    async transaction(work) {
      const { result, events, enqueued } = await database.transaction(async (query) => {
        const noted: AuditEvent[] = []
        const result = await work(query, (event) => noted.push(complete(event)))
        if (noted.length > 0) await query(statements.insert, [JSON.stringify(noted.map(toRow))])
        return { result, events: noted, enqueued: await outbox.follow(query, noted) }
      })
      if (enqueued) await outbox.announce()
      tellStored(events)
      return result
    },
    async transactional(work) {
      const { result, events, enqueued } = await database.transactional(async (em) => {
        const noted: AuditEvent[] = []
        const result = await work(em, (event) => noted.push(complete(event)))
        for (const event of noted) em.create(AuditEventEntity, toRow(event), { persist: true })
        return { result, events: noted, enqueued: outbox.followBy(em, noted) }
      })
      if (enqueued) await outbox.announce()
      tellStored(events)
      return result
    },
    observe(event) {
      batches.add(event)
      if (outbox.hears(event.type)) outbox.followObserved(complete(event))
      if (listeners.has(event.type)) tell(complete(event))
    },
    on(type, listener) {
      assertEventType(type)
      listeners.set(type, [...(listeners.get(type) ?? []), listener as unknown as Listener<EventType>])
    },
    start: batches.start,
    stop: batches.stop,
  }
}
