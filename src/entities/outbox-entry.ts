/** Something that is to be done outside, stored with the change that it belongs to; gone when it is done. */
import { defineEntity, p } from './define.ts'

const OutboxEntrySchema = defineEntity({
  name: 'OutboxEntry',
  tableName: 'outbox',
  properties: {
    id: p.uuid().primary(),
    kind: p.text(),
    /** Whom it is for, where one of a kind may fail while others do not: by the name that its kind has for them. */
    recipient: p.text().default(''),
    /** JSON, sealed under SECRET_KEY for this `id`. */
    payload: p.text(),
    enqueuedAt: p.datetime().defaultRaw('now()'),
    /** Not tried before; while a process is at it, when that one is taken for dead. */
    dueAt: p.datetime().defaultRaw('now()'),
    /** Given up when it fails after that; and shown to administrators, whether it was tried or not. */
    triesUntil: p.datetime().defaultRaw("(now() + '1 day'::interval)").index(),
    /** Begun, by whichever process. */
    attempts: p.integer().default(0),
    /** Why the last attempt failed, for people. */
    lastError: p.text().nullable(),
    givenUpAt: p.datetime().nullable(),
  },
  indexes: [
    { properties: ['dueAt'], where: '"given_up_at" is null' },
    { properties: ['kind', 'recipient', 'dueAt'], where: '"given_up_at" is null' },
    { properties: ['kind', 'recipient', 'triesUntil'], where: `"recipient" <> ''` },
  ],
})

export class OutboxEntry extends OutboxEntrySchema.class {}
OutboxEntrySchema.setClass(OutboxEntry)
