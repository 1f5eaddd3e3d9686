/** An event for programs, by the names of the wire: what the interface of the administration answers, and webhooks tell. */
import type { AuditEvent } from '../../events.ts'
import type { Bag } from '../../protocol/bag.ts'

/** Instants are those of RFC 3339; what is of nobody is left out. */
export function auditEventToWire(event: AuditEvent): Bag {
  const { id, at, type, count, actor, user, client, address, requestId, details } = event
  const members = { user, client_id: client, address, request_id: requestId }
  return {
    id,
    at: new Date(at).toISOString(),
    type,
    count,
    actor: actor.id === null ? { kind: actor.kind } : actor,
    ...Object.fromEntries(Object.entries(members).filter(([, value]) => (value ?? null) !== null)),
    details,
  }
}
