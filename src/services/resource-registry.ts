/** Registers resources and scopes: what SEED_FILE names, later also the pages. */
import { Resource, Scope } from '../entities/resource.ts'
import { metadataError } from '../protocol/client-metadata.ts'
import { isScopeToken } from '../protocol/scope.ts'
import { persistChange } from '../store/changes.ts'
import type { Database } from '../store/database.ts'
import type { ChangeFeed } from './change-feed.ts'

export interface ResourceInformation {
  /** Its identifier: an absolute URI without a fragment (RFC 8707 §2). */
  resource: string
  name?: string
  access_token_format?: 'jwt' | 'opaque'
  /** Seconds. */
  access_token_lifetime?: number
}

export interface ScopeInformation {
  name: string
  description?: string
  /** The resource it belongs to; absent: the default one. */
  resource?: string
}

export interface ResourceRegistry {
  /** Registers it, or lays what is given over what is there. Throws `invalid_client_metadata` naming the field. */
  saveResource(resource: ResourceInformation): Promise<void>
  saveScope(scope: ScopeInformation): Promise<void>
}

/** @internal */
export function createResourceRegistry(database: Database, feed: ChangeFeed): ResourceRegistry {
  return {
    async saveResource(wanted) {
      assertResource(wanted)
      const { resource, name, access_token_format, access_token_lifetime } = wanted
      const changed = await database.transactional(async (em) => {
        const entity =
          (await em.findOne(Resource, { resource })) ?? em.create(Resource, { resource }, { persist: true })
        if (name !== undefined) entity.name = name
        if (access_token_format !== undefined) entity.accessTokenFormat = access_token_format
        if (access_token_lifetime !== undefined) entity.accessTokenLifetime = access_token_lifetime
        em.getUnitOfWork().computeChangeSets()
        const dirty = em.getUnitOfWork().getChangeSets().length > 0
        if (dirty) persistChange(em, 'resource', resource)
        return dirty
      })
      if (changed) await feed.announce('resource', resource)
    },
    async saveScope({ name, description, resource }) {
      if (!isScopeToken(name)) throw metadataError('name', 'must be a scope name of RFC 6749 section 3.3')
      const changed = await database.transactional(async (em) => {
        const entity = (await em.findOne(Scope, { name })) ?? em.create(Scope, { name }, { persist: true })
        if (description !== undefined) entity.description = description
        if (resource !== undefined) {
          const owner = await em.findOne(Resource, { resource })
          if (owner === null) throw metadataError('resource', 'is not registered')
          entity.resource = owner
        }
        em.getUnitOfWork().computeChangeSets()
        const dirty = em.getUnitOfWork().getChangeSets().length > 0
        if (dirty) persistChange(em, 'scope', name)
        return dirty
      })
      if (changed) await feed.announce('scope', name)
    },
  }
}

function assertResource({
  resource,
  access_token_format: format,
  access_token_lifetime: lifetime,
}: ResourceInformation): void {
  if (
    typeof resource !== 'string' ||
    !URL.canParse(resource) ||
    resource.includes('#') ||
    resource.length > 2048
  ) {
    throw metadataError('resource', 'must be an absolute URI without a fragment')
  }
  if (format !== undefined && !['jwt', 'opaque'].includes(format))
    throw metadataError('access_token_format', 'must be jwt or opaque')
  if (lifetime !== undefined && !(Number.isSafeInteger(lifetime) && lifetime >= 0)) {
    throw metadataError('access_token_lifetime', 'must be a whole number of seconds')
  }
}
