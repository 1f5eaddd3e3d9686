/** `resource create|list|show|update|delete`: the APIs that tokens are for (RFC 8707), by their identifiers. */
import type { Command } from 'commander'
import type { ResourceInformation } from '../protocol/resource-information.ts'
import { recordCommand } from './record.ts'

export function resourceCommand(): Command {
  return recordCommand<ResourceInformation>({
    name: 'resource',
    description: 'registered resources: the APIs that tokens are for',
    ending: 'remove a resource; its scopes belong to the default one from then on',
    identifier: 'resource',
    members: [
      {
        name: 'aliases',
        value: 'uris',
        text: 'other identifiers that clients send for it, separated by spaces; a slash at the end never matters',
      },
      { name: 'name', value: 'text', text: 'what people read when they are asked to allow its scopes' },
      { name: 'access_token_format', value: 'format', text: 'jwt or opaque; by default as the client says' },
      { name: 'access_token_lifetime', value: 'seconds', text: 'by default OIDC_TOKEN_EXPIRE' },
      {
        name: 'dpop_bound_access_tokens',
        value: 'boolean',
        text: 'true: its tokens are always bound to a key by DPoP',
      },
      {
        name: 'tls_client_certificate_bound_access_tokens',
        value: 'boolean',
        text: 'true: its tokens are always bound to the certificate of a client (mutual TLS)',
      },
    ],
    find: async ({ resources }, resource) => resources.findResource(resource),
    list: async ({ resources }, options) => resources.listResources(options),
    save: async ({ resources }, members, options) => resources.saveResource(members, options),
    delete: async ({ resources }, resource) => resources.deleteResource(resource),
  })
}
