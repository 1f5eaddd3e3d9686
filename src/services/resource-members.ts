/** Resources and scopes as they are stored, in the names of their registration. */
import type { Scope } from '../entities/resource.ts'
import type { ResourceInformation, ScopeInformation } from '../protocol/resource-information.ts'
import type { ResourceSetRow } from '../store/record-sets.ts'

export function resourceMembers({
  resource,
  aliases,
  name,
  accessTokenFormat,
  accessTokenLifetime,
  dpopBoundAccessTokens,
  tlsClientCertificateBoundAccessTokens,
}: ResourceSetRow) {
  return {
    resource,
    aliases: aliases.length === 0 ? null : aliases,
    name,
    access_token_format: accessTokenFormat,
    access_token_lifetime: accessTokenLifetime,
    dpop_bound_access_tokens: dpopBoundAccessTokens,
    tls_client_certificate_bound_access_tokens: tlsClientCertificateBoundAccessTokens,
  }
}

export function scopeMembers({ name, description, resource }: Scope) {
  return { name, description, resource: resource?.resource }
}

export function toResource(resource: ResourceSetRow): ResourceInformation {
  return present(resourceMembers(resource)) as unknown as ResourceInformation
}

export function toScope(scope: Scope): ScopeInformation {
  return present(scopeMembers(scope)) as unknown as ScopeInformation
}

/** Without the members that there are not. */
export function present(members: object): object {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== null && value !== undefined),
  )
}
