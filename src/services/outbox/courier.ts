/**
 * Does what is enqueued, in every process that serves: takes what is due for a while, tries it, and puts off what fails. It
 * asks the database when something was enqueued or comes due, and never otherwise.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { type Delivery, RecipientGone, Undeliverable } from '../../doors/outbound.ts'
import { recordChange } from '../../store/changes.ts'
import type { Database } from '../../store/database.ts'
import { type ClaimedRow, statements } from '../../store/outbox.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { createAttempt } from './attempt.ts'
import { describe, lineOf, pauseBefore } from './failures.ts'
import { createPlaces, OF_ONE } from './places.ts'
import type { OwnRecipients } from './recipients.ts'

/** What became of attempts of this process. */
export interface DeliveryCounts {
  done: number
  /** Also those that are tried again. */
  failed: number
}

export interface Courier {
  /** By the kind of delivery, since the process began. */
  readonly counts: ReadonlyMap<string, Readonly<DeliveryCounts>>
  start(): void
  /** Finishes what is under way, or gives it back to the others. */
  stop(): Promise<void>
}

export interface CourierOptions {
  database: Database
  audit: AuditTrail
  box: SecretBox
  feed: ChangeFeed
  log: FastifyBaseLogger
  deliveries: () => ReadonlyMap<string, Delivery>
  recipients: OwnRecipients
  /** Milliseconds for one attempt. Default 15 000. */
  limit?: number
  /** Milliseconds that a stop waits for what is under way: by default, as long as a request to outside may take. */
  stopLimit?: number
}

const LIMIT = 15_000
const STOP_LIMIT = 6000
/** Seconds after which a process that has taken something is taken for dead. */
const LEASE = 30
/** Seconds between two attempts, at most. */
const LONGEST_PAUSE = 3600
/** Milliseconds between two looks, at least, where nothing was enqueued. */
const SHORTEST_PAUSE = 100
/** Milliseconds between two looks at most, while there are more recipients than one look goes through. */
const PAUSE_OF_MANY = 250
/** Milliseconds after a failure of the database. */
const DATABASE_PAUSE = 5000

export function createCourier(options: CourierOptions): Courier {
  const { database, audit, box, feed, log, deliveries, recipients } = options
  const { limit = LIMIT, stopLimit = STOP_LIMIT } = options
  const deliver = createAttempt({ box, deliveries, limit })
  const places = createPlaces(() => deliveries().size)
  const counts = new Map<string, DeliveryCounts>()
  /** By the kind: the recipient at which the next look begins, since one goes through a few hundred. All have their turn. */
  const beginsAt = new Map<string, string>()
  let timer: NodeJS.Timeout | undefined
  let wakesAt = Number.POSITIVE_INFINITY
  let round: Promise<void> | undefined
  let started = false
  let stopped = false
  let failing = false

  /** Looks what is due, in so many milliseconds at the latest. */
  function wake(wait = 0): void {
    const delay = Math.min(Math.max(wait, 0), LONGEST_PAUSE * 1000)
    const at = performance.now() + delay
    if (!started || stopped || at >= wakesAt) return
    clearTimeout(timer)
    wakesAt = at
    timer = setTimeout(look, delay).unref()
  }

  function look(): void {
    wakesAt = Number.POSITIVE_INFINITY
    if (round !== undefined) return void round.then(() => wake())
    round = claim()
      .then(
        () => (failing = false),
        (error: unknown) => {
          if (!failing)
            log.warn({ err: error }, 'what waits for delivery could not be read; this is tried again')
          failing = true
          wake(DATABASE_PAUSE)
        },
      )
      .then(() => (round = undefined))
  }

  async function claim(): Promise<void> {
    const looked: (readonly [kind: string, from: string])[] = []
    places.takeUp().forEach(wake)
    for (const kind of deliveries().keys()) {
      const room = places.roomFor(kind)
      if (room === 0) continue
      const held = places.held(kind)
      const from = beginsAt.get(kind) ?? ''
      const values = [
        kind,
        LEASE,
        room,
        OF_ONE,
        places.roomForFailing(),
        [...held.keys()],
        [...held.values()],
        from,
      ]
      const claimed = await database.query(statements.claim, values)
      claimed.forEach(begin)
      // There may be more than could be taken: looked for when there is room.
      if (claimed.length < room) looked.push([kind, from])
      else {
        beginsAt.set(kind, claimed[0]!.reached ?? '')
        if (places.roomFor(kind) > 0) wake()
      }
    }
    for (const [kind, from] of looked) {
      const asked = [kind, places.full(kind), places.roomForFailing() > 0, from]
      const [next] = await database.query(statements.next, asked)
      const reached = next?.reached ?? ''
      beginsAt.set(kind, reached)
      const others = from === '' && reached === '' ? Number.POSITIVE_INFINITY : PAUSE_OF_MANY
      const wait = Math.min(next?.wait ?? Number.POSITIVE_INFINITY, others)
      // What is due and was not taken, somebody else is just taking.
      if (wait < Number.POSITIVE_INFINITY) wake(Math.max(wait, SHORTEST_PAUSE))
    }
  }

  function begin(row: ClaimedRow): void {
    const attempt = tryOne(row).finally(() => {
      if (places.free(attempt)) wake()
    })
    places.take(attempt, row)
  }

  async function tryOne(row: ClaimedRow): Promise<void> {
    const began = performance.now()
    let answered: string | null | void
    try {
      answered = await deliver(row)
      count(row, 'done')
      if (typeof answered === 'string') note(row, began, true, answered)
    } catch (error) {
      const pauseMs = pauseBefore(error)
      if (pauseMs !== undefined && row.recipient !== '') return leave(row, pauseMs)
      count(row, 'failed')
      note(row, began, false, describe(error))
      if (error instanceof RecipientGone && row.recipient !== '')
        return recipients.gone(row, error).catch(report)
      // What cannot be delivered to anybody says nothing against whom it is for.
      const isTheirs = row.recipient !== '' && !(error instanceof Undeliverable)
      if (isTheirs) places.fail(row)
      await putOff(row, error).catch(report)
      if (isTheirs) await recipients.failed(row, error).then(wake).catch(report)
      return
    }
    await database.query(statements.done, [row.id]).catch(report)
    if (row.failing && answered !== null) await recipients.well(row.kind, row.recipient).catch(report)
  }

  function note(row: ClaimedRow, began: number, done: boolean, text: string): void {
    if (row.recipient === '') return
    const milliseconds = Math.round(performance.now() - began)
    recipients.note(row, {
      id: row.id,
      at: Date.now(),
      milliseconds,
      done,
      text: lineOf(text),
    })
  }

  function count({ kind }: ClaimedRow, result: keyof DeliveryCounts): void {
    const counted = counts.get(kind) ?? { done: 0, failed: 0 }
    counted[result]++
    counts.set(kind, counted)
  }

  /** It lapses, and is tried again. */
  function report(error: unknown): void {
    log.warn({ err: error }, 'it could not be stored what became of a delivery; it is tried again')
    wake(LEASE * 1000)
  }

  async function putOff({ id, kind, attempts }: ClaimedRow, error: unknown): Promise<void> {
    const dueIn = Math.min(2 ** (attempts - 1), LONGEST_PAUSE) * (0.5 + Math.random())
    const givenUp = await audit.transaction(async (query, note) => {
      const values = [id, attempts, dueIn, describe(error), error instanceof Undeliverable]
      const [row] = await query(statements.failed, values)
      if (row?.givenUp) note({ type: 'delivery.given_up', details: { delivery: id, kind, attempts } })
      return row?.givenUp ?? false
    })
    const what = { err: error, delivery: id, kind, attempts }
    if (givenUp) return log.error(what, 'a delivery is given up')
    if (attempts === 1) log.warn(what, 'a delivery failed; it is tried again')
    wake(dueIn * 1000)
  }

  async function leave(row: ClaimedRow, pauseMs: number): Promise<void> {
    places.leave(row, pauseMs)
    await giveBack([row]).catch(report)
    wake(pauseMs)
  }

  feed.on('delivery', () => wake())
  feed.onGap(async () => wake())

  return {
    counts,
    start() {
      started = deliveries().size > 0
      wake()
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await round
      const underWay = places.all()
      if (underWay.size === 0) return
      const over = new AbortController()
      const waited = sleep(stopLimit, undefined, { signal: over.signal }).catch(() => {})
      await Promise.race([Promise.allSettled(underWay.keys()), waited])
      over.abort()
      await giveBack([...underWay.values()]).catch(report)
    },
  }

  async function giveBack(rows: readonly ClaimedRow[]): Promise<void> {
    if (rows.length === 0) return
    await database.transaction(async (query) => {
      for (const { id, attempts } of rows) await query(statements.release, [id, attempts])
      await recordChange(query, 'delivery', '')
    })
  }
}
