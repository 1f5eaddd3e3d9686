/** A provider by which people sign in here. */
import { defineEntity, p } from './define.ts'

const UpstreamSchema = defineEntity({
  name: 'Upstream',
  tableName: 'upstreams',
  properties: {
    id: p.text().primary(),
    /** How it speaks; null for OpenID Connect. */
    kind: p.text().nullable(),
    issuer: p.text(),
    clientId: p.text(),
    /** Under SECRET_KEY; null for a public client. */
    clientSecret: p.text().nullable(),
    /** Of the kind `oauth2`, which has no metadata that says them. */
    authorizationEndpoint: p.text().nullable(),
    tokenEndpoint: p.text().nullable(),
    userinfoEndpoint: p.text().nullable(),
    tokenEndpointAuthMethod: p.text().nullable(),
    subjectClaim: p.text().nullable(),
    /** Of the kind `apple`. */
    teamId: p.text().nullable(),
    keyId: p.text().nullable(),
    name: p.text().nullable(),
    scope: p.array().columnType('text[]').nullable(),
    domains: p.array().columnType('text[]').nullable(),
    trustEmail: p.boolean().nullable(),
    signUp: p.boolean().nullable(),
    signOut: p.boolean().nullable(),
    /** Whether it has one; null for yes. */
    button: p.boolean().nullable(),
    /** By the name of a claim here, that of the claim there. */
    claims: p.json<Record<string, string>>().nullable(),
  },
})

export class Upstream extends UpstreamSchema.class {}
UpstreamSchema.setClass(Upstream)
