/** `scope create|list|show|update|delete`: what clients may ask for, and which resource it belongs to. */
import type { Command } from 'commander'
import type { ScopeInformation } from '../protocol/resource-information.ts'
import { recordCommand } from './record.ts'

export function scopeCommand(): Command {
  return recordCommand<ScopeInformation>({
    name: 'scope',
    description: 'registered scopes',
    ending: 'remove a scope that no client has in its list any more',
    identifier: 'name',
    members: [
      { name: 'description', value: 'text', text: 'what people read when they are asked to allow it' },
      { name: 'resource', value: 'uri', text: 'the resource it belongs to; by default the issuer' },
    ],
    find: async ({ resources }, name) => resources.findScope(name),
    list: async ({ resources }, options) => resources.listScopes(options),
    save: async ({ resources }, members, options) => resources.saveScope(members, options),
    delete: async ({ resources }, name) => resources.deleteScope(name),
  })
}
