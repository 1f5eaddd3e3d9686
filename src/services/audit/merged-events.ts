/**
 * What was observed in a second, as the rows that it becomes: like events are one row with a count, and beyond so many
 * rows an event loses what tells it apart. So memory is bounded, and so is what a flood makes the database write.
 */
import type { AuditEvent, NewEvent } from '../../events.ts'
import { complete } from './audit-row.ts'
import { currentOrigin } from './origin.ts'

/** Rows of a second: so many tell each apart, then so many only the client, and then not even that. */
export interface Room {
  readonly detailed: number
  readonly byClient: number
}

export interface MergedRow {
  /** Its origin is that of the first. */
  readonly event: AuditEvent
  count: number
}

export interface MergedEvents {
  add(event: NewEvent): void
  /** Those since the last time. */
  take(): MergedRow[]
}

export function createMergedEvents({ detailed, byClient }: Room): MergedEvents {
  let rows = new Map<string, MergedRow>()

  function find(key: string, make: () => AuditEvent): MergedRow {
    const had = rows.get(key)
    if (had !== undefined) return had
    const row = { event: make(), count: 0 }
    rows.set(key, row)
    return row
  }

  function rowOf(event: NewEvent): MergedRow {
    const key = keyOf(event)
    if (rows.size < detailed || rows.has(key)) return find(key, () => complete(event))
    const { type } = event
    const client =
      rows.size < byClient || rows.has(keyOfClient(type, event.client)) ? event.client : undefined
    const told = { type, client, details: {} } as unknown as NewEvent
    return find(keyOfClient(type, client), () => ({ ...complete(told), address: null, requestId: null }))
  }

  return {
    add(event) {
      rowOf(event).count++
    },
    take() {
      const taken = [...rows.values()]
      rows = new Map()
      return taken
    },
  }
}

/** What is issued to one client is one thing wherever it was asked from; who fails is told apart by the address. */
function keyOf({ type, user = '', client = '', details }: NewEvent): string {
  const from = type === 'token.issued' ? '' : (currentOrigin().address ?? '')
  return `${type}\0${client}\0${user}\0${from}\0${JSON.stringify(details)}`
}

function keyOfClient(type: string, client = ''): string {
  return `${type}\0${client}`
}
