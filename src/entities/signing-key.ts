/**
 * A key that signs tokens. Its private part is encrypted under SECRET_KEY before it comes here, or is in a store of keys that it
 * never leaves.
 */
import { defineEntity, p } from './define.ts'

const SigningKeySchema = defineEntity({
  name: 'SigningKey',
  tableName: 'signing_keys',
  properties: {
    kid: p.text().primary(),
    algorithm: p.text(),
    /** The kid that this one replaces, `''` for the first: unique, so that one key has one successor. */
    predecessor: p.text(),
    publicJwk: p.json<Record<string, unknown>>(),
    /** Empty where another store than this database has it. */
    privateJwk: p.text(),
    /** Which store has the private part, as KEYS names it. */
    store: p.text().default('database'),
    /** What that store finds it by. */
    reference: p.text().default(''),
    createdAt: p
      .datetime()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    /** Published before this instant, signing from it on. */
    signsFrom: p.datetime(),
    /** When the last token it signed is dead; null while it has no successor. */
    retiresAt: p.datetime().nullable(),
    /** When it was withdrawn, with all that it signed; it has retired then too. */
    revokedAt: p.datetime().nullable(),
  },
  uniques: [{ properties: ['algorithm', 'predecessor'] }],
})

export class SigningKey extends SigningKeySchema.class {}
SigningKeySchema.setClass(SigningKey)
