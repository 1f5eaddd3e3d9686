/** What SEED_FILE last said of a thing, so that a value is applied when it is new there, and not at each start. */
import { defineEntity, p } from './define.ts'

export type SeedKind = 'resource' | 'scope' | 'client' | 'user' | 'upstream' | 'trusted_issuer'

/** The kind of the one row that tells when we began to remember, in a database that was in use before. */
export const SINCE = 'since'

const SeedEntrySchema = defineEntity({
  name: 'SeedEntry',
  tableName: 'seed_entries',
  properties: {
    kind: p.text().$type<SeedKind | typeof SINCE>().primary(),
    /** The thing's key; of a user, the lookup form of the name. */
    key: p.text().primary(),
    /** By member, a keyed hash of the value: `services/seed/seed-memory.ts`. */
    said: p.json<Record<string, string>>(),
    saidAt: p.datetime().defaultRaw('now()'),
  },
})

export class SeedEntry extends SeedEntrySchema.class {}
SeedEntrySchema.setClass(SeedEntry)
