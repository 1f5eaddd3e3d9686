/** An event on its way from what a service noted to the row that is stored. */
import type { AuditEvent, NewEvent } from '../../events.ts'
import { createUuid } from '../../protocol/uuid.ts'
import type { AuditEventRow } from '../../store/audit-events.ts'
import { currentOrigin } from './origin.ts'

/** With what is known of the moment: when, by whom, and by which request. */
export function complete(event: NewEvent): AuditEvent {
  const at = Date.now()
  return { ...event, ...currentOrigin(), id: createId(at), at, count: 1 }
}

let lastAt = 0
let sequence = 0

/** Those of one millisecond are in their order too: 12 bits count them (RFC 9562 §6.2, method 1). */
function createId(at: number): string {
  sequence = at === lastAt ? (sequence + 1) & 0xfff : 0
  lastAt = at
  const id = createUuid(at)
  return `${id.slice(0, 15)}${sequence.toString(16).padStart(3, '0')}${id.slice(18)}`
}

export function toRow({ at, actor, ...event }: AuditEvent): AuditEventRow {
  const { user = null, client = null } = event
  const details = event.details as Record<string, unknown>
  return { ...event, details, user, client, at: new Date(at), actorKind: actor.kind, actorId: actor.id }
}

export function fromRow({ at, actorKind, actorId, user, client, ...row }: AuditEventRow): AuditEvent {
  const about = { ...(user ? { user } : {}), ...(client ? { client } : {}) }
  return { ...row, ...about, at: at.getTime(), actor: { kind: actorKind, id: actorId } } as AuditEvent
}
