/** The feed by which every process learns what another one changed; written in the change's own transaction. */
import { defineEntity, p } from './define.ts'

/** What changed: its `key` is the thing's primary key. */
export type ChangeKind =
  | 'client'
  | 'user'
  | 'scope'
  | 'resource'
  | 'upstream'
  | 'trusted_issuer'
  | 'signing_key'
  | 'revoked_token'
  | 'delivery'

const ChangeSchema = defineEntity({
  name: 'Change',
  tableName: 'changes',
  properties: {
    id: p.uuid().primary(),
    kind: p.text().$type<ChangeKind>(),
    key: p.text(),
    /** Of a revoked token: when it would have expired. */
    expiresAt: p.datetime().nullable(),
    /** When it was written: its transaction may have begun long before. */
    changedAt: p.datetime().defaultRaw('clock_timestamp()').index(),
    /** The transaction that wrote it, by which a snapshot tells whether it was seen. */
    writer: p.string().columnType('xid8').defaultRaw('pg_current_xact_id()').index(),
  },
})

export class Change extends ChangeSchema.class {}
ChangeSchema.setClass(Change)
