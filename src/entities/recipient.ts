/** Whom deliveries of a kind are for, by what became of the last ones: who fails again and again is tried less, by all processes. */
import { defineEntity, p } from './define.ts'

/** What became of one attempt. */
export interface Outcome {
  /** Of the delivery. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly milliseconds: number
  readonly done: boolean
  /** For people: what was answered, or why it failed. */
  readonly text: string
}

const RecipientSchema = defineEntity({
  name: 'Recipient',
  tableName: 'outbox_recipients',
  properties: {
    kind: p.text().primary(),
    recipient: p.text().primary(),
    /** In a row. */
    failures: p.integer().default(0),
    /** Null where the last attempt did not fail. */
    failingSince: p.datetime().nullable(),
    /** Not tried before. */
    restsUntil: p.datetime().nullable(),
    /** The last ones, the latest first. */
    outcomes: p.json<readonly Outcome[]>().defaultRaw(`'[]'`),
    seenAt: p.datetime().defaultRaw('now()').index(),
  },
})

export class Recipient extends RecipientSchema.class {}
RecipientSchema.setClass(Recipient)
