/** What a user has allowed a client, remembered so that they are asked again only for more. */
import { defineEntity, p } from './define.ts'
import { User } from './user.ts'

const ConsentSchema = defineEntity({
  name: 'Consent',
  tableName: 'consents',
  properties: {
    user: () => p.manyToOne(User).fieldName('user_id').primary().updateRule('cascade').deleteRule('cascade'),
    /** One that may have no row: what is known by its address alone. So whoever removes a client removes these. */
    client: p.text().fieldName('client_id').primary().index(),
    /** Another one when it was withdrawn and given again: what came of the former does not come of this one. */
    id: p.uuid().fieldName('consent_id').defaultRaw('gen_random_uuid()'),
    scopes: p.array().columnType('text[]'),
    /** Optional ones that were left out, so that nobody is asked for them each time. What is in `scopes` too was allowed since. */
    declined: p.array().columnType('text[]').defaultRaw(`'{}'`),
    resources: p.array().columnType('text[]'),
    /** What parameters said on the page, by `parameter:key`. */
    lines: p.json<Record<string, string>>().defaultRaw(`'{}'`),
    grantedAt: p.datetime().defaultRaw('now()'),
    /** As what people knew a client that is not registered here; null for one that is. Of another it says nothing. */
    identity: p.text().nullable(),
    /** From then on it says nothing; null for never. */
    expiresAt: p.datetime().nullable(),
  },
  indexes: [{ properties: ['expiresAt'], where: '"expires_at" is not null' }],
})

export class Consent extends ConsentSchema.class {}
ConsentSchema.setClass(Consent)
