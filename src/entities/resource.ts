/** Resources that access tokens are for (RFC 8707) and the scopes that belong to them. */
import { defineEntity, p } from './define.ts'

const ResourceSchema = defineEntity({
  name: 'Resource',
  tableName: 'resources',
  properties: {
    /** Its identifier, an absolute URI: the `aud` of its tokens. */
    resource: p.text().primary(),
    name: p.text().nullable(),
    accessTokenFormat: p.text().nullable(),
    /** Seconds. */
    accessTokenLifetime: p.integer().nullable(),
    dpopBoundAccessTokens: p.boolean().nullable(),
    tlsClientCertificateBoundAccessTokens: p.boolean().nullable(),
  },
})

export class Resource extends ResourceSchema.class {}
ResourceSchema.setClass(Resource)

const ScopeSchema = defineEntity({
  name: 'Scope',
  tableName: 'scopes',
  properties: {
    name: p.text().primary(),
    description: p.text().nullable(),
    /** Null: the default resource, whose identifier is the issuer. */
    resource: () => p.manyToOne(Resource).fieldName('resource').nullable().deleteRule('set null').index(),
  },
})

export class Scope extends ScopeSchema.class {}
ScopeSchema.setClass(Scope)
