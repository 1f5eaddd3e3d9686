/**
 * Client metadata by its names of RFC 7591 §2 and OpenID Connect Registration §2: what each member must look like. Pure: whether
 * a client_id is taken, or a grant's plugin present, is for the registry to say. What is stored of it, and what holds where a member
 * is absent, is in `stored-client.ts`.
 */
import type { Static, TObject, TSchema } from 'typebox'
import { metadataError } from './errors.ts'
import { isObject, isStorable } from './json.ts'
import { reason } from './message.ts'
import { isLoopbackHost, redirectUriProblem } from './redirect-uri.ts'
import { ExchangeRules } from './exchange-rules.ts'
import { isResourceIdentifier } from './resource-identifier.ts'
import { ASCII, misfitOf, Type } from './schema.ts'
import { isScopeToken } from './scope.ts'
import { isUnseen } from './unseen.ts'

const Text = () => Type.String({ minLength: 1, maxLength: 200 })
/** The format of a member that names a page or a document. */
export const WEB_URI = 'web-uri'
const WebUri = () => Type.String({ maxLength: 2048, format: WEB_URI })
/** The format of a member that is a colour, `#rrggbb`. */
const COLOR = 'color'
/** The format of a member that names a resource. */
const RESOURCE = 'resource'
const RedirectUris = () => Type.Array(Type.String(), { maxItems: 100, format: 'redirect-uris' })
const Names = () => Type.Array(Text(), { maxItems: 50 })

/** For a client that registers by itself to set. */
export const open = <S extends TSchema>(schema: S): S => Object.assign(schema, { open: true })

/**
 * Every member that the server knows, whether or not the plugin that reads it is present. Those that are `open` a client may set
 * by itself, where it registers by itself: the standards', and none by which we would trust it more or serve it otherwise.
 */
export const ClientMetadata = Type.Partial(
  Type.Object({
    client_id: Type.String({ minLength: 1, maxLength: 256, pattern: ASCII }),
    client_secret: Type.String({ minLength: 1, maxLength: 1024 }),
    client_name: open(Text()),
    redirect_uris: open(RedirectUris()),
    response_types: open(Names()),
    grant_types: open(Names()),
    token_endpoint_auth_method: open(Text()),
    scope: open(Type.Array(Type.String(), { maxItems: 1000 })),
    default_scope: Type.Array(Type.String(), { maxItems: 100 }),
    /** Of no RFC: what its requests are for that name no resource (RFC 8707 §2). */
    default_resource: Type.String({ maxLength: 2048, format: RESOURCE }),
    /** Of no RFC: whose tokens it may exchange, and for what (RFC 8693). */
    token_exchange: ExchangeRules(),
    optional_scopes: Type.Array(Type.String(), { maxItems: 100 }),
    access_token_format: Type.Enum(['jwt', 'opaque']),
    client_uri: open(WebUri()),
    logo_uri: open(WebUri()),
    /** Whether people see its logo: by default they do, unless it has registered itself. */
    show_logo: Type.Boolean(),
    /** Of buttons and links where people are on their way to it. */
    brand_color: Type.String({ maxLength: 20, format: COLOR }),
    policy_uri: open(WebUri()),
    tos_uri: open(WebUri()),
    jwks_uri: open(WebUri()),
    initiate_login_uri: open(WebUri()),
    sector_identifier_uri: open(WebUri()),
    backchannel_logout_uri: open(WebUri()),
    frontchannel_logout_uri: open(WebUri()),
    jwks: open(Type.Object({ keys: Type.Array(Type.Object({})) })),
    contacts: open(Names()),
    application_type: open(Type.Enum(['web', 'native'])),
    subject_type: open(Text()),
    id_token_signed_response_alg: open(Text()),
    userinfo_signed_response_alg: open(Text()),
    token_endpoint_auth_signing_alg: open(Text()),
    default_max_age: open(Type.Integer({ minimum: 0, maximum: 1e9 })),
    require_auth_time: open(Type.Boolean()),
    /** Of no RFC: the rules that it keeps as a whole, by their name. */
    profile: open(Text()),
    /** Of no RFC: whether its codes need PKCE though it can prove who it is. */
    require_pkce: open(Type.Boolean()),
    /** Of no RFC: whether a code under PKCE is exchanged with its redirect_uri alone (RFC 6749 §4.1.3); OAuth 2.1 has none there. Default true. */
    require_redirect_uri_with_code: open(Type.Boolean()),
    /** Of no RFC: seconds, at most those of OIDC_CODE_EXPIRE. */
    authorization_code_lifetime: open(Type.Integer({ minimum: 1, maximum: 600 })),
    /** Of no RFC: whether its access tokens must be bound, by whatever it shows. */
    require_bound_access_tokens: open(Type.Boolean()),
    /** Of no RFC: whether its access tokens are taken from the address of a request (RFC 6750 §2.3), where that is at all. Default true. */
    access_token_in_query: open(Type.Boolean()),
    dpop_bound_access_tokens: open(Type.Boolean()),
    tls_client_certificate_bound_access_tokens: open(Type.Boolean()),
    /** Of no RFC: whether its proofs need a nonce of ours. */
    require_dpop_nonce: open(Type.Boolean()),
    default_acr_values: open(Names()),
    post_logout_redirect_uris: open(RedirectUris()),
    backchannel_logout_session_required: open(Type.Boolean()),
    frontchannel_logout_session_required: open(Type.Boolean()),
    software_id: open(Text()),
    software_version: open(Text()),
    software_statement: open(Type.String({ minLength: 1, maxLength: 16_384 })),
  }),
)

/**
 * Lists in code, and space-separated text on the wire. `default_scope` is of no RFC: the default value that RFC 6749 §3.3
 * speaks of, for requests to a person that name no scope. `optional_scopes` are those that people may leave out.
 */
const SCOPE_LISTS: readonly string[] = ['scope', 'default_scope', 'optional_scopes']

/** A client's registration by its RFC 7591 names; `scope` is a list in code. Plugins add members of their own. */
export type ClientInformation = Static<typeof ClientMetadata> & Record<string, unknown>

/** RFC 7591 §2: on the wire, `scope` is a string. */
export function clientToWire({ scope = [], ...client }: ClientInformation): Record<string, unknown> {
  return { ...client, scope: scope.join(' ') }
}

export interface ParsedMetadata {
  members: ClientInformation
  /** Names that nobody knows: ignored (RFC 7591 §2), and named in a warning. */
  unknown: string[]
  /** Members that a production start refuses and a development start only warns of. */
  insecure: string[]
}

/**
 * Checks a registration and brings it to one form: `redirect_uri` becomes `redirect_uris`, a scope string a list.
 * A null member counts as absent. Throws `invalid_redirect_uri` or `invalid_client_metadata`.
 */
export function parseMetadata(input: unknown, extensions: readonly TObject[] = []): ParsedMetadata {
  if (!isObject(input)) throw metadataError('client', 'must be an object of client metadata')
  const schemas = Object.assign(
    Object.create(null),
    ClientMetadata.properties,
    ...extensions.map((one) => one.properties),
  ) as Record<string, TSchema>
  const parsed: ParsedMetadata = { members: {}, unknown: [], insecure: [] }
  for (const [name, value] of Object.entries(withoutAliases(input))) {
    if (value === undefined || value === null) continue
    const schema = schemas[name]
    if (schema === undefined) parsed.unknown.push(name)
    else parsed.members[name] = checkMember(name, schema, value, parsed.insecure)
  }
  return parsed
}

function withoutAliases(input: Record<string, unknown>): Record<string, unknown> {
  const { redirect_uri: alias, ...rest } = input
  for (const member of SCOPE_LISTS) {
    const text = rest[member]
    if (typeof text === 'string') rest[member] = text.split(' ').filter((name) => name !== '')
  }
  if (typeof rest['redirect_uris'] === 'string') rest['redirect_uris'] = [rest['redirect_uris']]
  if (alias === undefined || alias === null) return rest
  if (rest['redirect_uris'] !== undefined)
    throw metadataError('redirect_uri', 'and redirect_uris are one member: send one of them')
  return { ...rest, redirect_uris: Array.isArray(alias) ? alias : [alias] }
}

function checkMember(name: string, schema: TSchema, value: unknown, insecure: string[]): unknown {
  if (!isStorable(value)) throw metadataError(name, reason('must not hold NUL or broken Unicode'))
  // It becomes a link and a heading.
  if (name === 'client_name' && typeof value === 'string' && isUnseen(value))
    throw metadataError(name, reason('must not be empty'))
  const misfit = misfitOf(schema, value)
  if (misfit !== undefined) throw metadataError(name, misfit.words)
  const { format } = schema as { format?: string }
  if (format === 'redirect-uris') {
    for (const uri of value as string[]) {
      const problem = redirectUriProblem(uri)
      if (problem?.insecure) insecure.push(name)
      else if (problem !== undefined) throw metadataError(name, problem.reason)
    }
  }
  if (format === WEB_URI && !isWebUri(value as string)) {
    throw metadataError(name, reason('must be an absolute http or https URL without a fragment'))
  }
  // What stands before an @ looks like a host to people, and is none.
  if (format === WEB_URI && hasUserInfo(value as string))
    throw metadataError(name, reason('must not carry a user name or password'))
  // OpenID Connect Registration §2 asks for https.
  if (name === 'initiate_login_uri' && !isSecure(value as string))
    throw metadataError(name, reason('must use https (http only to this machine)'))
  if (format === COLOR && !/^#[0-9A-Fa-f]{6}$/.test(value as string))
    throw metadataError(name, reason('must be a colour such as #0b6b5e'))
  if (format === RESOURCE && !isResourceIdentifier(value))
    throw metadataError(name, reason('must be an absolute URI without a fragment'))
  if (SCOPE_LISTS.includes(name) && !(value as string[]).every(isScopeToken)) {
    throw metadataError(name, reason('must hold scope names of RFC 6749 section 3.3'))
  }
  return Array.isArray(value) ? [...new Set(value)] : value
}

function isWebUri(address: string): boolean {
  return /^https?:\/\/[^/\s#?]+[^\s#]*$/.test(address) && URL.canParse(address)
}

function hasUserInfo(address: string): boolean {
  const { username, password } = new URL(address)
  return username !== '' || password !== ''
}

/** Whether it is https, or on this machine, where who develops has none. */
export function isSecure(address: string): boolean {
  const url = URL.parse(address)
  return url?.protocol === 'https:' || (url !== null && isLoopbackHost(url.hostname))
}
