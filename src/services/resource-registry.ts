/** Registers resources and scopes: what SEED_FILE names, later also the pages. */
import { Resource, Scope } from '../entities/resource.ts'
import { isStorable, metadataError } from '../protocol/client-metadata.ts'
import { isScopeToken } from '../protocol/scope.ts'
import { changesBetween } from '../protocol/changes.ts'
import { persistChange } from '../store/changes.ts'
import type { AuditTrail } from './audit.ts'
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

/** Seconds: ten years, as for every lifetime in `config.ts`. */
const LONGEST = 10 * 365 * 86_400

/** @internal */
export function createResourceRegistry(audit: AuditTrail, feed: ChangeFeed): ResourceRegistry {
  return {
    async saveResource(wanted) {
      assertResource(wanted)
      const { resource, name, access_token_format, access_token_lifetime } = wanted
      const changed = await audit.transactional(async (em, note) => {
        const known = await em.findOne(Resource, { resource })
        const before = known === null ? {} : resourceMembers(known)
        const entity = known ?? em.create(Resource, { resource }, { persist: true })
        if (name !== undefined) entity.name = name
        if (access_token_format !== undefined) entity.accessTokenFormat = access_token_format
        if (access_token_lifetime !== undefined) entity.accessTokenLifetime = access_token_lifetime
        const changes = changesBetween(before, resourceMembers(entity))
        if (Object.keys(changes).length === 0) return false
        persistChange(em, 'resource', resource)
        const type = known === null ? 'resource.registered' : 'resource.changed'
        note({ type, details: { resource, changes } })
        return true
      })
      if (changed) await feed.announce('resource', resource)
    },
    async saveScope({ name, description, resource }) {
      if (typeof name !== 'string' || !isScopeToken(name))
        throw metadataError('name', 'must be a scope name of RFC 6749 section 3.3')
      assertText('description', description)
      assertText('resource', resource)
      const changed = await audit.transactional(async (em, note) => {
        const known = await em.findOne(Scope, { name })
        const before = known === null ? {} : scopeMembers(known)
        const entity = known ?? em.create(Scope, { name }, { persist: true })
        if (description !== undefined) entity.description = description
        if (resource !== undefined) {
          const owner = await em.findOne(Resource, { resource })
          if (owner === null) throw metadataError('resource', 'is not registered')
          entity.resource = owner
        }
        const changes = changesBetween(before, scopeMembers(entity))
        if (Object.keys(changes).length === 0) return false
        persistChange(em, 'scope', name)
        const type = known === null ? 'scope.registered' : 'scope.changed'
        note({ type, details: { scope: name, changes } })
        return true
      })
      if (changed) await feed.announce('scope', name)
    },
  }
}

function resourceMembers({ resource, name, accessTokenFormat, accessTokenLifetime }: Resource) {
  return {
    resource,
    name,
    access_token_format: accessTokenFormat,
    access_token_lifetime: accessTokenLifetime,
  }
}

function scopeMembers({ name, description, resource }: Scope) {
  return { name, description, resource: resource?.resource }
}

/** Whatever the file or the caller gave: PostgreSQL holds texts without NUL and broken Unicode only. */
function assertText(field: string, value: unknown): void {
  if (
    value !== undefined &&
    value !== null &&
    !(typeof value === 'string' && value.length <= 2048 && isStorable(value))
  )
    throw metadataError(field, 'must be a text of 2048 characters at most, without NUL or broken Unicode')
}

function assertResource({
  resource,
  name,
  access_token_format: format,
  access_token_lifetime: lifetime,
}: ResourceInformation): void {
  if (
    typeof resource !== 'string' ||
    !/^[\x21-\x7e]{1,2048}$/.test(resource) ||
    !URL.canParse(resource) ||
    resource.includes('#')
  ) {
    throw metadataError('resource', 'must be an absolute URI without a fragment')
  }
  assertText('name', name)
  if (format !== undefined && !['jwt', 'opaque'].includes(format))
    throw metadataError('access_token_format', 'must be jwt or opaque')
  if (lifetime !== undefined && !(Number.isSafeInteger(lifetime) && lifetime >= 0 && lifetime <= LONGEST)) {
    throw metadataError('access_token_lifetime', `must be a whole number of seconds from 0 to ${LONGEST}`)
  }
}
