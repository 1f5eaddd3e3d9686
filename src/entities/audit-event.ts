/** What happened, for people who ask later: written once, never changed, removed when it is old. */
import { defineEntity, p } from './define.ts'

const AuditEventSchema = defineEntity({
  name: 'AuditEvent',
  tableName: 'audit_events',
  indexes: [
    { properties: ['type', 'id'] },
    { properties: ['user', 'id'] },
    { properties: ['client', 'id'] },
    { properties: ['actorId', 'id'] },
  ],
  properties: {
    /** UUID version 7: the order of ids is the order of time. */
    id: p.uuid().primary(),
    at: p.datetime(),
    type: p.text(),
    actorKind: p.text(),
    actorId: p.text().nullable(),
    /** Whom it is about. No reference: an event outlives what it tells of. */
    user: p.text().nullable().fieldName('user_id'),
    client: p.text().nullable().fieldName('client_id'),
    address: p.text().nullable(),
    requestId: p.text().nullable().index(),
    count: p.integer().default(1),
    details: p.json<Record<string, unknown>>(),
  },
})

export class AuditEvent extends AuditEventSchema.class {}
AuditEventSchema.setClass(AuditEvent)

const ActivitySchema = defineEntity({
  name: 'Activity',
  tableName: 'activity',
  properties: {
    /** The beginning of the hour that is counted. */
    hour: p.datetime().primary(),
    type: p.text().primary(),
    /** Each process counts in rows of its own, so that none waits for another. */
    writer: p.uuid().primary(),
    count: p.bigint(),
  },
})

/** How often what happened, by the hour: for pictures of the last day. */
export class Activity extends ActivitySchema.class {}
ActivitySchema.setClass(Activity)
