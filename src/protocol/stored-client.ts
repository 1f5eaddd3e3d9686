/**
 * What is stored of a client, and the two directions between that and its metadata of RFC 7591 §2: the defaults of what is absent,
 * and what a registration or an update changes.
 */
import type { ClientInformation } from './client-metadata.ts'
import { grantTypesFor } from './response-type.ts'

/** What is stored of a client: the members that have columns, and all others in `metadata`. */
export interface StoredClient {
  clientId: string
  clientName?: string | null | undefined
  redirectUris: string[]
  responseTypes?: string[] | null | undefined
  grantTypes?: string[] | null | undefined
  tokenEndpointAuthMethod?: string | null | undefined
  scope: string[]
  metadata: Record<string, unknown>
  /** By which door it has registered itself; null where somebody here registered it. */
  registrar?: string | null | undefined
}

/** RFC 7591 §2, by our rule: `code` where there is a redirect URI. */
export function effectiveResponseTypes(client: StoredClient): string[] {
  return client.responseTypes ?? (client.redirectUris.length > 0 ? ['code'] : [])
}

/** Those of the response types, refresh_token with a code, and client_credentials with a secret and a scope list. */
export function effectiveGrantTypes(client: StoredClient, hasSecret: boolean): string[] {
  if (client.grantTypes) return client.grantTypes
  const needed = grantTypesFor(effectiveResponseTypes(client))
  return [
    ...needed.flatMap((type) => (type === 'authorization_code' ? [type, 'refresh_token'] : type)),
    ...(hasSecret && client.scope.length > 0 ? ['client_credentials'] : []),
  ]
}

/** What is stored, by its RFC 7591 names, defaults included and unset members absent. */
export function toMetadata(client: StoredClient, hasSecret: boolean): ClientInformation {
  return {
    client_id: client.clientId,
    ...(client.clientName ? { client_name: client.clientName } : {}),
    redirect_uris: [...client.redirectUris],
    response_types: effectiveResponseTypes(client),
    grant_types: effectiveGrantTypes(client, hasSecret),
    ...(client.tokenEndpointAuthMethod ? { token_endpoint_auth_method: client.tokenEndpointAuthMethod } : {}),
    scope: [...client.scope],
    ...client.metadata,
  }
}

/** Lays `members` over what is stored; a member that is absent stays as it was. */
export function applyMetadata(client: StoredClient, members: ClientInformation): void {
  const {
    client_id: _id,
    client_secret: _secret,
    client_name,
    redirect_uris,
    response_types,
    grant_types,
    ...more
  } = members
  const { token_endpoint_auth_method, scope, ...others } = more
  if (client_name !== undefined) client.clientName = client_name
  if (redirect_uris !== undefined) client.redirectUris = redirect_uris
  if (response_types !== undefined) client.responseTypes = response_types
  if (grant_types !== undefined) client.grantTypes = grant_types
  if (token_endpoint_auth_method !== undefined) client.tokenEndpointAuthMethod = token_endpoint_auth_method
  if (scope !== undefined) client.scope = scope
  client.metadata = { ...client.metadata, ...others }
}

/** The members of an update that take away what is stored: those that are null (as in RFC 7396). */
export function nullMembers(input: unknown): string[] {
  const entries = typeof input === 'object' && input !== null ? Object.entries(input) : []
  return entries.filter(([, value]) => value === null).map(([name]) => name)
}

/** Takes members away from what is stored, so that their defaults hold again. */
export function removeMembers(client: StoredClient, names: readonly string[]): void {
  const gone = new Set(names)
  if (gone.has('client_name')) client.clientName = null
  if (gone.has('redirect_uris')) client.redirectUris = []
  if (gone.has('response_types')) client.responseTypes = null
  if (gone.has('grant_types')) client.grantTypes = null
  if (gone.has('token_endpoint_auth_method')) client.tokenEndpointAuthMethod = null
  if (gone.has('scope')) client.scope = []
  const kept = Object.entries(client.metadata).filter(([name]) => !gone.has(name))
  client.metadata = Object.fromEntries(kept)
}
