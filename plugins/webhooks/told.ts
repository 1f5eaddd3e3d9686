/** What a webhook tells of an event: who, and what was changed, but nothing that would have to be forgotten with a person. */
import type { AuditEvent } from '../../src/events.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { isObject } from '../../src/protocol/json.ts'
import { auditEventToWire } from '../../src/services/audit/audit-event-wire.ts'

/** Characters of what is stored: a delivery holds little more. */
const MOST = 32_000
/** Members of details that are addresses and names of people. */
const PERSONAL: ReadonlySet<string> = new Set(['address', 'device', 'name'])

/** What is stored until it is sent; `text` is the body. Details that are too long are left out, as of somebody who used hundreds of apps. */
export function storedOf(url: string, event: AuditEvent): Bag {
  const told = toldOf(event)
  const whole = { url, text: JSON.stringify(told) }
  // What is told is a text in it, whose quotes are escaped.
  if (JSON.stringify(whole).length <= MOST) return whole
  return { url, text: JSON.stringify({ ...told, data: { ...told.data, details: {}, shortened: true } }) }
}

/** Without where it came from, and of changes what was changed alone: what is told of somebody cannot be forgotten with them. */
function toldOf(event: AuditEvent) {
  const { address: _address, details, actor, ...data } = auditEventToWire(event) as Bag & { details: Bag }
  const shown = Object.entries(details).flatMap(([name, value]) => {
    if (PERSONAL.has(name)) return []
    return [[name, name === 'changes' && isObject(value) ? Object.keys(value) : value] as const]
  })
  return {
    type: event.type,
    timestamp: data['at'],
    data: {
      ...data,
      actor: isCommand(event) ? { kind: 'command' } : actor,
      details: Object.fromEntries(shown),
    },
  }
}

/** Whose account on which machine ran it is for the audit log alone: it is a name by which people sign in to that machine. */
function isCommand({ actor }: AuditEvent): boolean {
  return actor.kind === 'command'
}
