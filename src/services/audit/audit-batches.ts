/**
 * Events that are stored behind the request, a second's at a time, and how often what happened. Many like ones are one
 * row; memory for them is bounded, and so is what a flood of them makes the database write.
 */
import type { FastifyBaseLogger } from 'fastify'
import { randomUUID } from 'node:crypto'
import type { AuditEvent, NewEvent } from '../../events.ts'
import { statements } from '../../store/audit-events.ts'
import type { Database } from '../../store/database.ts'
import { complete, toRow } from './audit-row.ts'
import { currentOrigin } from './origin.ts'

export interface AuditBatches {
  add(event: NewEvent): void
  /** For the pictures of the last day alone. */
  count(type: string): void
  start(): void
  stop(): Promise<void>
}

const INTERVAL = 1000
/** Rows of a second that tell each apart; then only the client, and then not even that. */
const DETAILED = 200
const BY_CLIENT = 2000
/** Rows that wait while the database is away. */
const MAX_WAITING = 10_000
const CHUNK = 500
const HOUR = 3_600_000

export function createAuditBatches(database: Database, log: FastifyBaseLogger): AuditBatches {
  const writer = randomUUID()
  let merged = new Map<string, { event: AuditEvent; count: number }>()
  let counts = new Map<string, number>()
  let waiting: AuditEvent[] = []
  let lost = 0
  let failing = false
  let timer: NodeJS.Timeout | undefined
  let flushing = Promise.resolve()

  function add(event: NewEvent): void {
    count(event.type)
    const like = merged.get(keyOf(event)) ?? open(event)
    like.count++
  }

  /** The row that this one goes into; its origin is that of the first. */
  function open(event: NewEvent): { event: AuditEvent; count: number } {
    const { type, client } = event
    const told = {
      type,
      client: merged.size < BY_CLIENT ? client : undefined,
      details: {},
    } as unknown as NewEvent
    const detailed = merged.size < DETAILED
    const key = detailed ? keyOf(event) : `${type}\0${told.client ?? ''}`
    const had = merged.get(key)
    if (had !== undefined) return had
    const row = {
      event: detailed ? complete(event) : { ...complete(told), address: null, requestId: null },
      count: 0,
    }
    merged.set(key, row)
    return row
  }

  function count(type: string): void {
    counts.set(type, (counts.get(type) ?? 0) + 1)
  }

  function collect(): void {
    for (const { event, count: times } of merged.values()) {
      if (waiting.length < MAX_WAITING)
        waiting.push(times === 1 ? event : { ...event, count: times, requestId: null })
      else lost += times
    }
    merged = new Map()
  }

  async function flush(): Promise<void> {
    collect()
    while (waiting.length > 0) {
      const chunk = waiting.slice(0, CHUNK)
      await database.query(statements.insert, [JSON.stringify(chunk.map(toRow))])
      waiting = waiting.slice(chunk.length)
    }
    if (counts.size === 0) return
    const hour = new Date(Math.floor(Date.now() / HOUR) * HOUR)
    const counted = counts
    counts = new Map()
    await database.query(statements.count, [writer, hour, [...counted.keys()], [...counted.values()]])
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
    count,
    start() {
      timer = setInterval(() => {
        flushing = flushing.then(flushAndReport)
      }, INTERVAL).unref()
    },
    async stop() {
      clearInterval(timer)
      flushing = flushing.then(flushAndReport)
      await flushing
    },
  }
}

/** What is issued to one client is one thing wherever it was asked from; who fails is told apart by the address. */
function keyOf({ type, user = '', client = '', details }: NewEvent): string {
  const from = type === 'token.issued' ? '' : (currentOrigin().address ?? '')
  return `${type}\0${client}\0${user}\0${from}\0${JSON.stringify(details)}`
}
