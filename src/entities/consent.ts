/** What a user has allowed a client, remembered so that they are asked again only for more. */
import { defineEntity, p } from './define.ts'
import { Client } from './client.ts'
import { User } from './user.ts'

const ConsentSchema = defineEntity({
  name: 'Consent',
  tableName: 'consents',
  properties: {
    user: () => p.manyToOne(User).fieldName('user_id').primary().deleteRule('cascade'),
    client: () => p.manyToOne(Client).fieldName('client_id').primary().deleteRule('cascade').index(),
    /** Another one when it was withdrawn and given again: what came of the former does not come of this one. */
    id: p.uuid().fieldName('consent_id').defaultRaw('gen_random_uuid()'),
    scopes: p.array().columnType('text[]'),
    /** Optional ones that were left out, so that nobody is asked for them each time. What is in `scopes` too was allowed since. */
    declined: p.array().columnType('text[]').defaultRaw(`'{}'`),
    resources: p.array().columnType('text[]'),
    /** What parameters said on the page, by `parameter:key`. */
    lines: p.json<Record<string, string>>().defaultRaw(`'{}'`),
    grantedAt: p.datetime().defaultRaw('now()'),
  },
})

export class Consent extends ConsentSchema.class {}
ConsentSchema.setClass(Consent)
