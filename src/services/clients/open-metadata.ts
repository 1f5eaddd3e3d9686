/**
 * What a stranger may say of a client of its own, made into what is stored of it: the house's checks and more, since nobody has
 * looked at it. What it asks for and may not have is refused, but for grants: those are left out while others remain, since apps name all that
 * the metadata has. What nobody knows is ignored (RFC 7591 §2).
 */
import type { DoorRegistry } from '../../doors/registry.ts'
import type { SelfRegistrationAllowance } from '../../doors/self-registration.ts'
import { addressCautions, plainAddresses } from '../../protocol/client-addresses.ts'
import { parseMetadata, type ClientInformation, type ParsedMetadata } from '../../protocol/client-metadata.ts'
import { metadataError } from '../../protocol/errors.ts'
import { webHostOf } from '../../protocol/redirect-uri.ts'
import type { StoredClient } from '../../protocol/stored-client.ts'
import { grantTypesFor, orderedResponseType } from '../../protocol/response-type.ts'
import { OPENID_SCOPES } from '../../protocol/scope.ts'
import type { Directory } from '../directory.ts'
import { newClient } from './client-changes.ts'
import type { ClientPolicies } from './client-policies.ts'
import { servedGrantTypes } from './served-grant-types.ts'

/** By which a person approves all that the client gets. */
const GRANT_TYPES = ['authorization_code', 'refresh_token', 'implicit']
const NOT_BY_ITSELF = 'cannot be set by the client itself'

interface Services {
  doors: DoorRegistry
  directory: Pick<Directory, 'findScope'>
  policies: ClientPolicies
}

/** Throws `invalid_redirect_uri` or `invalid_client_metadata`. */
export type ParseOpenMetadata = (
  clientId: string,
  metadata: unknown,
  allowance: SelfRegistrationAllowance,
) => Promise<StoredClient>

export function createOpenMetadata({ doors, directory, policies }: Services): ParseOpenMetadata {
  /** Those that are scopes now: a name may have become a client's meanwhile, and so a right. */
  async function givenScopes(scopes: readonly string[]): Promise<string[]> {
    const found = await Promise.all(scopes.map(async (name) => directory.findScope(name)))
    return scopes.filter((_, at) => found[at]!.registered)
  }

  async function scopeOf(
    { scope: asked, software_statement: statement }: ClientInformation,
    { scopes = [], growingScope = false }: SelfRegistrationAllowance,
  ): Promise<string[]> {
    const given = await givenScopes(scopes)
    const beyond = asked?.filter((name) => !OPENID_SCOPES.has(name) && !given.includes(name)) ?? []
    if (beyond.length > 0) throw metadataError('scope', `${beyond.join(' ')} ${NOT_BY_ITSELF}`)
    const all = growingScope && statement === undefined ? given : []
    return asked === undefined ? given : [...new Set([...asked, ...all])]
  }

  /**
   * Only what is served: else it would have it on the day on which somebody serves it. Of what is served, what it may not have is left out
   * (§2: the server may replace it), as long as something remains that it can use.
   */
  function grantTypesOf(
    { grant_types: asked, response_types: types }: ClientInformation,
    { grantTypes = GRANT_TYPES }: SelfRegistrationAllowance,
  ): string[] {
    const served = servedGrantTypes(doors)
    const given = grantTypes.filter((type) => served.has(type))
    const left = asked?.filter((type) => given.includes(type))
    const beyond = asked?.filter((type) => !given.includes(type)) ?? []
    const refused = left?.some(beginsByItself) === true ? beyond.filter((type) => !served.has(type)) : beyond
    if (refused.length > 0) throw metadataError('grant_types', `${refused.join(' ')} ${NOT_BY_ITSELF}`)
    const usual = usualGrantTypes(types ?? ['code']).filter((type) => given.includes(type))
    const has = left ?? usual
    const missing = grantTypesFor(types ?? []).find((type) => !has.includes(type))
    if (missing !== undefined) throw metadataError('response_types', `need the grant type ${missing}`)
    return has
  }

  function assertServed({
    token_endpoint_auth_method: method,
    response_types: types = [],
  }: ClientInformation): void {
    if (method !== undefined && !doors.owners('clientAuthentication').has(method))
      throw metadataError('token_endpoint_auth_method', 'is not served here')
    if (!types.every((type) => doors.owners('responseType').has(orderedResponseType(type))))
      throw metadataError('response_types', 'names what is not served here')
  }

  return async (clientId, metadata, allowance) => {
    const parsed = parseMetadata(metadata, policies.schemas())
    const { members } = parsed
    const closed = Object.keys(members).find((name) => policies.isOpen(name) !== true)
    if (closed !== undefined) throw metadataError(closed, NOT_BY_ITSELF)
    assertSafe(parsed)
    assertHosts(members, allowance)
    assertServed(members)
    const grant_types = grantTypesOf(members, allowance)
    const hasCode = grant_types.includes('authorization_code')
    const response_types = members.response_types ?? (hasCode ? ['code'] : [])
    return newClient(clientId, {
      ...members,
      grant_types,
      response_types,
      scope: await scopeOf(members, allowance),
    })
  }
}

/** Without another grant there is no token to refresh. */
function beginsByItself(type: string): boolean {
  return type !== 'refresh_token'
}

/** With the grant by which nobody has to be asked again. */
function usualGrantTypes(types: readonly string[]): string[] {
  const needed: readonly string[] = grantTypesFor(types)
  return GRANT_TYPES.filter(
    (type) => needed.includes(type) || (type === 'refresh_token' && needed.includes('authorization_code')),
  )
}

function assertHosts(
  { redirect_uris = [], post_logout_redirect_uris: afterwards = [] }: ClientInformation,
  { redirectHosts: hosts }: SelfRegistrationAllowance,
): void {
  // An app's own scheme is at no host, whatever stands there.
  const isFree = (uri: string): boolean =>
    hosts === undefined || (webHostOf(uri) !== null && hosts.includes(new URL(uri).hostname))
  if (!redirect_uris.every(isFree)) throw metadataError('redirect_uris', 'have a host that is not allowed')
  if (!afterwards.every(isFree))
    throw metadataError('post_logout_redirect_uris', 'have a host that is not allowed')
}

/** An address that somebody else may take, or read on the way. */
function assertSafe({ members, insecure }: ParsedMetadata): void {
  const [plain] = [...insecure, ...plainAddresses(members)]
  if (plain !== undefined) throw metadataError(plain, 'must use https (http only to this machine)')
  const [caution] = addressCautions(members)
  if (caution !== undefined) throw metadataError(caution.member, caution.reason)
}
