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

const ResourceAliasSchema = defineEntity({
  name: 'ResourceAlias',
  tableName: 'resource_aliases',
  properties: {
    /** The alias without a slash at its end: what differs in that alone is one. */
    name: p.text().primary(),
    /** As it was registered. */
    alias: p.text(),
    resource: () => p.manyToOne(Resource).fieldName('resource').deleteRule('cascade').index(),
  },
})

/** Another name of a resource, in requests alone: its tokens have the resource's own. */
export class ResourceAlias extends ResourceAliasSchema.class {}
ResourceAliasSchema.setClass(ResourceAlias)

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
