/**
 * What is enqueued: stored with the change that it belongs to, sealed, and told to every process. Doing it is for
 * `courier.ts`.
 */
import type { EntityManager } from '@mikro-orm/postgresql'
import type { FastifyBaseLogger } from 'fastify'
import type { Client } from '../../doors/client.ts'
import type { Delivery, Enqueued } from '../../doors/outbound.ts'
import { OutboxEntry } from '../../entities/outbox-entry.ts'
import type { AuditEvent, EventType } from '../../events.ts'
import type { Bag } from '../../protocol/bag.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { misfitOf } from '../../protocol/schema.ts'
import { createUuid } from '../../protocol/uuid.ts'
import { persistChange, recordChange } from '../../store/changes.ts'
import type { Database } from '../../store/database.ts'
import { ENQUEUED, statements } from '../../store/outbox.ts'
import type { Query } from '../../store/statement.ts'
import { assertEventType } from '../audit/event-types.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { Directory } from '../directory.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { createObserved } from './observed.ts'

/**
 * What is enqueued with an event; the listener only says it, and neither waits nor asks anybody. By `clientInMemory` it may leave out
 * what a client has no use for: undefined is a client that this process cannot say anything of now.
 */
export type Enqueuer<Type extends EventType> = (
  event: AuditEvent<Type>,
  clientInMemory: (clientId: string) => Client | undefined,
) => readonly Enqueued[]

export interface Outbox {
  /**
   * Stores it; from then on some process does it, at least once. Throws `TypeError` for a kind that nobody delivers, and for a
   * payload that does not fit it; 503 while 100 000 that came so wait or were given up.
   */
  enqueue(kind: string, payload: Bag): Promise<void>
  /** From now on, what `enqueuer` says of each event of these types is stored in the event's own transaction. */
  enqueueOn<Type extends EventType>(types: Type | readonly Type[], enqueuer: Enqueuer<Type>): void
}

/**
 * For the audit log, which tells events with the change that they are of.
 * @internal
 */
export interface OutboxTrail {
  /** What these events enqueue, stored in the transaction of `query`; returns whether there was anything. */
  follow(query: Query, events: readonly AuditEvent[]): Promise<boolean>
  /** The same of what no event stands for: due in `dueIn` seconds, by the clock of the transaction; at once by default. */
  enqueueBy(query: Query, things: readonly Enqueued[], dueIn?: number): Promise<boolean>
  /** The same by an entity manager. */
  followBy(em: EntityManager, events: readonly AuditEvent[]): boolean
  /** The same of an event that has no transaction. */
  followObserved(event: AuditEvent): void
  /** Whether anything goes with events of this type. */
  hears(type: EventType): boolean
  /** Once it is committed: what was stored is done soon. */
  announce(): Promise<void>
  /** Stores what goes with events that were observed, if that can be done now. */
  stop(): Promise<void>
}

/** @internal */
export interface OutboxOptions {
  database: Database
  box: SecretBox
  feed: ChangeFeed
  log: FastifyBaseLogger
  deliveries: () => ReadonlyMap<string, Delivery>
  /** Throws while it may not be relied on. */
  cachedClient: Directory['cachedClient']
}

/** Characters of a payload as JSON. */
const MOST = 32_768
/** Rows of what comes with no event, that wait or were given up. Looked at again after so many milliseconds. */
const CROWD = 100_000
const LOOK_AGAIN = 5000

/** @internal */
export function createOutbox(options: OutboxOptions): Outbox & OutboxTrail {
  const { database, box, feed, log, deliveries, cachedClient } = options
  const enqueuers = new Map<EventType, Enqueuer<EventType>[]>()

  function rowOf({ kind, payload, recipient = '' }: Enqueued): Pick<OutboxEntry, (typeof ENQUEUED)[number]> {
    const delivery = deliveries().get(kind)
    if (delivery === undefined) throw new TypeError(`nobody delivers ${kind}: see oauth.deliver`)
    const misfit = misfitOf(delivery.payload, payload)
    if (misfit !== undefined)
      throw new TypeError(`the payload of a ${kind} does not fit: ${misfit.instancePath} ${misfit.message}`)
    const text = JSON.stringify(payload)
    if (text.length > MOST) throw new TypeError(`the payload of a ${kind} has more than ${MOST} characters`)
    const id = createUuid(Date.now())
    return { id, kind, recipient, payload: box.seal(text, contextOf(id)) }
  }

  function clientInMemory(clientId: string): Client | undefined {
    try {
      return cachedClient(clientId)
    } catch {
      return undefined
    }
  }

  /** What a listener does wrong is logged, and keeps nobody from ending what they want to end. */
  function rowsOf(events: readonly AuditEvent[]) {
    return events.flatMap((event) =>
      (enqueuers.get(event.type) ?? []).flatMap((enqueuer) => {
        try {
          return enqueuer(event, clientInMemory).map(rowOf)
        } catch (error) {
          log.error({ err: error, event: event.type }, 'what goes with an event could not be enqueued')
          return []
        }
      }),
    )
  }

  async function store(query: Query, rows: readonly ReturnType<typeof rowOf>[], dueIn = 0): Promise<boolean> {
    if (rows.length === 0) return false
    const columns = ENQUEUED.map((column) => rows.map((row) => row[column]))
    await query(statements.enqueue, [...columns, dueIn])
    await recordChange(query, 'delivery', '')
    return true
  }

  let seen: { crowded: Promise<boolean>; at: number } | undefined
  /** Kinds of what was enqueued without an event. What goes with events, and may wait for weeks at an address that is away, takes no room from them. */
  const asked = new Set<string>()
  /** Who may be made to enqueue by strangers fills no more than this: what is there is delivered, and then there is room again. */
  async function assertRoom(kind: string): Promise<void> {
    if (!asked.has(kind)) seen = undefined
    asked.add(kind)
    if (seen === undefined || performance.now() - seen.at > LOOK_AGAIN) {
      const crowded = database.query(statements.crowded, [CROWD, [...asked]]).then((rows) => rows.length > 0)
      seen = { crowded, at: performance.now() }
      crowded.catch(() => (seen = undefined))
      if (await crowded)
        log.error({ rows: CROWD }, 'the outbox is full: nothing more is enqueued but with events')
    }
    if (await seen?.crowded)
      throw new OAuthError('temporarily_unavailable', 'too much waits to be delivered; try again later', {
        status: 503,
        headers: { 'retry-after': '60' },
      })
  }

  const announce = async (): Promise<void> => feed.announce('delivery', '')

  async function storeNow(rows: ReturnType<typeof rowsOf>): Promise<void> {
    if (await database.transaction(async (query) => store(query, rows))) await announce()
  }

  const observed = createObserved<ReturnType<typeof rowOf>>(async (rows) => {
    await database.transaction(async (query) => store(query, rows))
    await announce()
  }, log)

  return {
    announce,
    async enqueue(kind, payload) {
      const row = rowOf({ kind, payload })
      await assertRoom(kind)
      await storeNow([row])
    },
    enqueueOn(types, enqueuer) {
      const all = [types].flat() as EventType[]
      for (const type of all) assertEventType(type)
      for (const type of all)
        enqueuers.set(type, [...(enqueuers.get(type) ?? []), enqueuer as unknown as Enqueuer<EventType>])
    },
    enqueueBy: async (query, things, dueIn) => store(query, things.map(rowOf), dueIn),
    follow: async (query, events) => enqueuers.size > 0 && store(query, rowsOf(events)),
    followBy(em, events) {
      const rows = enqueuers.size > 0 ? rowsOf(events) : []
      for (const row of rows) em.create(OutboxEntry, row, { persist: true })
      if (rows.length > 0) persistChange(em, 'delivery', '')
      return rows.length > 0
    },
    followObserved: (event) => observed.add(rowsOf([event])),
    stop: observed.stop,
    hears: (type) => enqueuers.has(type),
  }
}

/**
 * What a sealed payload is bound to.
 * @internal
 */
export function contextOf(id: string): string {
  return `outbox ${id}`
}
