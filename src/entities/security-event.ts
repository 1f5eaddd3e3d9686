/** Security events that wait for their receivers (RFC 8417), by the stream that each is for; gone when they are taken. */
import { defineEntity, p } from './define.ts'

/** Days until nobody waits for a receiver any more. */
export const DAYS_KEPT = 7

const SecurityEventSchema = defineEntity({
  name: 'SecurityEvent',
  tableName: 'security_events',
  properties: {
    /** The `stream_id`. */
    stream: p.text().primary(),
    /** Begins with the id of the audit event that it is of, so that those of a stream are in the order in which things happened. */
    jti: p.text().primary(),
    /** All claims but `iss`: it is signed each time that it is sent. */
    claims: p.json<Record<string, unknown>>(),
    /** Until then a process is pushing it, or was killed while it did. */
    claimedUntil: p.datetime().nullable(),
    /** Of those in which it was not taken while others were. */
    attempts: p.integer().default(0),
    /** Not pushed again before; null where it was not put off. */
    dueAt: p.datetime().nullable(),
    /** No receiver came for it until then. */
    expiresAt: p.datetime().defaultRaw(`(now() + '${DAYS_KEPT} days'::interval)`).index(),
  },
  indexes: [{ properties: ['stream'], where: '"claimed_until" is not null' }],
})

export class SecurityEvent extends SecurityEventSchema.class {}
SecurityEventSchema.setClass(SecurityEvent)
