/** What is registered of a resource and of a scope, by its names on the wire, and what each member must look like. */
import { metadataError } from './errors.ts'
import { reason } from './message.ts'
import { isStorable } from './json.ts'
import { readEach } from './record-members.ts'
import { isResourceIdentifier, slashless } from './resource-identifier.ts'
import { isScopeToken } from './scope.ts'
import { isUnseen } from './unseen.ts'

export interface ResourceInformation {
  /** Its identifier: an absolute URI without a fragment (RFC 8707 §2). */
  resource: string
  /** Other identifiers that clients send for it; its tokens have none of them. A slash at the end never matters. */
  aliases?: readonly string[]
  name?: string
  access_token_format?: 'jwt' | 'opaque'
  /** Seconds. */
  access_token_lifetime?: number
  /** Whether its tokens are always bound to a key by DPoP. */
  dpop_bound_access_tokens?: boolean
  /** Whether its tokens are always bound to the certificate of a client. */
  tls_client_certificate_bound_access_tokens?: boolean
}

export interface ScopeInformation {
  name: string
  description?: string
  /** The resource it belongs to; absent: the default one. */
  resource?: string
}

/** Members to be laid over what is there; null takes one away, absent leaves it. */
export type Laid<Information> = { [Member in keyof Information]: Information[Member] | null }

/** Seconds: ten years, as for every lifetime in `settings/`. */
const LONGEST = 10 * 365 * 86_400

/** Of one resource. */
const MOST_ALIASES = 20

/** Throws `invalid_client_metadata` naming the members: whatever the file or the caller gave. */
export function assertResource({
  resource,
  aliases,
  name,
  access_token_format: format,
  access_token_lifetime: lifetime,
  dpop_bound_access_tokens: bound,
  tls_client_certificate_bound_access_tokens: certified,
}: Laid<ResourceInformation>): void {
  readEach({
    resource() {
      if (!isResourceIdentifier(resource))
        throw metadataError('resource', reason('must be an absolute URI without a fragment'))
    },
    aliases: () => isGiven(aliases) && assertAliases(aliases),
    name() {
      assertText('name', name)
      // Pages call it by its name.
      if (isGiven(name) && name !== '' && isUnseen(name))
        throw metadataError('name', reason('must not be empty'))
    },
    format() {
      if (isGiven(format) && !['jwt', 'opaque'].includes(format))
        throw metadataError('access_token_format', reason('must be jwt or opaque'))
    },
    lifetime() {
      if (isGiven(lifetime) && !(Number.isSafeInteger(lifetime) && lifetime >= 0 && lifetime <= LONGEST))
        throw metadataError(
          'access_token_lifetime',
          reason('must be a whole number of seconds from 0 to {most}', { most: `${LONGEST}` }),
        )
    },
    bound: () => assertFlag('dpop_bound_access_tokens', bound),
    certified: () => assertFlag('tls_client_certificate_bound_access_tokens', certified),
  })
}

function assertAliases(aliases: unknown): void {
  if (!Array.isArray(aliases) || aliases.length > MOST_ALIASES || !aliases.every(isResourceIdentifier))
    throw metadataError(
      'aliases',
      reason('must be at most {most} absolute URIs without a fragment', { most: MOST_ALIASES }),
    )
  if (new Set(aliases.map(slashless)).size < aliases.length)
    throw metadataError('aliases', reason('must differ in more than a slash at the end'))
}

/** The same for a scope. */
export function assertScope({ name, description, resource }: Laid<ScopeInformation>): void {
  readEach({
    name() {
      if (typeof name !== 'string' || !isScopeToken(name))
        throw metadataError('name', reason('must be a scope name of RFC 6749 section 3.3'))
    },
    description: () => assertText('description', description),
    resource: () => assertText('resource', resource),
  })
}

function assertFlag(member: string, value: unknown): void {
  if (isGiven(value) && typeof value !== 'boolean')
    throw metadataError(member, reason('must be true or false'))
}

/** PostgreSQL holds texts without NUL and broken Unicode only. */
function assertText(member: string, value: unknown): void {
  if (isGiven(value) && !(typeof value === 'string' && value.length <= 2048 && isStorable(value)))
    throw metadataError(
      member,
      reason('must be a text of 2048 characters at most, without NUL or broken Unicode'),
    )
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null
}
