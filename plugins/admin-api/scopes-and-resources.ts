/** `/scopes` and `/resources`: what clients may ask for, and for which API. Those of the server's own interfaces are changed by who administers all. */
import type { FastifyInstance } from 'fastify'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import type { ResourceInformation, ScopeInformation } from '../../src/protocol/resource-information.ts'
import { slashless } from '../../src/protocol/resource-identifier.ts'
import { Type } from '../../src/protocol/schema.ts'
import { OPENID_SCOPES } from '../../src/protocol/scope.ts'
import { PROGRAM_PATHS } from '../programs/access.ts'
import { namesOurs } from './access.ts'
import type { AdminApi } from './operations.ts'
import { addRecordOperations } from './record-operations.ts'

const SCOPES = { read: 'latchkey:clients:read', write: 'latchkey:clients:write' } as const
const Uri = () => Type.String({ description: 'An absolute URI without a fragment (RFC 8707 section 2).' })
const ScopeMembers = {
  name: Type.String(),
  description: Type.Optional(Type.String({ description: 'What people read where they allow it.' })),
  resource: Type.Optional(Uri()),
}
const ResourceMembers = {
  resource: Uri(),
  aliases: Type.Optional(Type.Array(Uri())),
  name: Type.Optional(Type.String({ description: 'What people read where they allow it.' })),
  access_token_format: Type.Optional(Type.Enum(['jwt', 'opaque'])),
  access_token_lifetime: Type.Optional(Type.Integer({ minimum: 0, description: 'Seconds.' })),
  dpop_bound_access_tokens: Type.Optional(Type.Boolean()),
  tls_client_certificate_bound_access_tokens: Type.Optional(Type.Boolean()),
}

export function addScopesAndResources({ oauth }: FastifyInstance, api: AdminApi): void {
  const { issuer, resources } = oauth
  /** With a slash at the end it is another name of the same. */
  const own: readonly string[] = PROGRAM_PATHS.map((path) => `${issuer}${path}`)
  const isOwn = (name: unknown): boolean => typeof name === 'string' && own.includes(slashless(name))
  const assertMayChangeOurs = async (call: BearerCall): Promise<void> =>
    api.assertAll(call, 'what is done to the scopes and resources of the server itself')
  addRecordOperations<ScopeInformation>(api, {
    noun: 'scope',
    identifier: 'name',
    members: ScopeMembers,
    scopes: SCOPES,
    ending: 'Removes a scope that no client has in its list',
    async assertMayChange(call, name, { resource }) {
      const owners = [resource, (await resources.findScope(name))?.resource]
      if (namesOurs([name]) || OPENID_SCOPES.has(name) || owners.some(isOwn)) await assertMayChangeOurs(call)
    },
    find: resources.findScope,
    list: resources.listScopes,
    save: resources.saveScope,
    delete: resources.deleteScope,
  })
  addRecordOperations<ResourceInformation>(api, {
    noun: 'resource',
    identifier: 'resource',
    members: ResourceMembers,
    scopes: SCOPES,
    ending: 'Removes a resource; its scopes belong to the default one from then on',
    // An alias that an interface is to be called by would stand in its way on the day when it is switched on.
    async assertMayChange(call, name, { aliases }) {
      if ([name, ...(Array.isArray(aliases) ? aliases : [])].some(isOwn)) await assertMayChangeOurs(call)
    },
    find: resources.findResource,
    list: resources.listResources,
    save: resources.saveResource,
    delete: resources.deleteResource,
  })
}
