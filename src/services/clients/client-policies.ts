/**
 * What a registration must agree with beyond its own form: the plugins that are present, and the kind of start.
 * Types, grants and methods of the standards whose plugin is absent are kept and named in a warning.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { TObject } from 'typebox'
import { ConfigError } from '../../config.ts'
import type { Bag } from '../../protocol/bag.ts'
import { colorCaution } from '../../protocol/brand-colors.ts'
import { addressCautions, unaskedAddresses } from '../../protocol/client-addresses.ts'
import { ClientMetadata, type ParsedMetadata } from '../../protocol/client-metadata.ts'
import { metadataError } from '../../protocol/errors.ts'
import {
  effectiveGrantTypes,
  effectiveResponseTypes,
  toMetadata,
  type StoredClient,
} from '../../protocol/stored-client.ts'
import { JwkSetError, parseJwkSet } from '../../protocol/jwk-set.ts'
import { inEnglish, type Message, reason } from '../../protocol/message.ts'
import { orderedResponseType } from '../../protocol/response-type.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import { hmacKeyBytes } from '../../protocol/hmac.ts'
import { assertSchema } from '../../doors/shapes.ts'
import { CIBA, DEVICE_CODE } from './client-kinds.ts'
import { servedGrantTypes } from './served-grant-types.ts'
import { SEALED_METHOD } from './client-secrets.ts'
import type { Profiles } from './profiles.ts'

/** The standards' names: RFC 6749, 7523, 8628, 8693, OpenID Connect Core and CIBA; RFC 8705 for the methods. */
const RESPONSE_TYPES = new Set(['code', 'token', 'id_token', 'none'])
const GRANT_TYPES = new Set([
  'authorization_code', 'implicit', 'refresh_token', 'client_credentials', 'password',
  'urn:ietf:params:oauth:grant-type:jwt-bearer', 'urn:ietf:params:oauth:grant-type:saml2-bearer',
  'urn:ietf:params:oauth:grant-type:token-exchange', DEVICE_CODE, CIBA,
]) // prettier-ignore
const METHODS = new Set([
  'none', 'client_secret_basic', 'client_secret_post', 'client_secret_jwt', 'private_key_jwt',
  'tls_client_auth', 'self_signed_tls_client_auth',
]) // prettier-ignore
const METHODS_WITH_SECRET = new Set(['client_secret_basic', 'client_secret_post', 'client_secret_jwt'])

/** A member, and a name in it that nothing serves. */
export interface Unserved {
  field: string
  name: string
}

export interface ClientPolicies {
  /** The members that plugins added. */
  schemas(): readonly TObject[]
  /** Throws `ConfigError` for a member that is known already. */
  extend(schema: TObject, check?: MetadataCheck): void
  /** Whether a client may set this member by itself; undefined for one that is not known. */
  isOpen(member: string): boolean | undefined
  /** Whether clients with this method (undefined: unset) authenticate with a secret. */
  needsSecret(method: string | undefined): boolean
  /** Throws where a secret is given to a client whose method has none, or is too short for what it keys. */
  assertSecretUsed(secret: string | undefined, client: StoredClient): void
  /** Throws in a production start when addresses without https were sent. */
  assertInsecureAllowed(members: readonly string[]): void
  /** Says in the log what is allowed and seldom wise of what was sent for this client. */
  warnOf(client: string | undefined, sent: Pick<ParsedMetadata, 'insecure' | 'members'>): void
  /**
   * What a client names that is stored though nothing serves it. Throws `invalid_client_metadata` for what no standard
   * and no plugin knows, or what cannot go together.
   */
  inspect(client: StoredClient, hasSecret: boolean): Promise<Unserved[]>
  /** As `inspect`, and names in a warning what nothing serves; `isServed` tells what somebody else does. */
  check(
    client: StoredClient,
    hasSecret: boolean,
    isServed?: (field: string, name: string) => boolean,
  ): Promise<void>
}

/**
 * Whether a client may be registered so, by all of its members; those of others too. It may ask elsewhere: nothing is held
 * meanwhile, and a client that changes while it is asked is asked for again. Throws `OAuthError`.
 */
export type MetadataCheck = (metadata: Bag) => void | Promise<void>

/** Of a member of a client that names what no standard has and no plugin brings. */
export function nobodyServes(names: readonly string[]): Message {
  return reason('names {names}, which no plugin serves here', { names })
}

export function createClientPolicies(
  doors: DoorRegistry,
  production: boolean,
  log: FastifyBaseLogger,
  profiles?: Pick<Profiles, 'assertKept'>,
  unsafeOrigins: readonly string[] = [],
): ClientPolicies {
  const known = new Set([...Object.keys(ClientMetadata.properties), 'redirect_uri', '__proto__'])
  const extensions: { schema: TObject; check: MetadataCheck | undefined }[] = []

  /** `standard` names are kept though nobody serves them yet; all others need a plugin. */
  function unserved(
    field: string,
    names: readonly string[],
    standard: ReadonlySet<string>,
    served: ReadonlySet<string>,
  ): Unserved[] {
    const missing = names.filter((name) => !served.has(name))
    if (!missing.every((name) => name.split(' ').every((part) => standard.has(part))))
      throw metadataError(field, nobodyServes(missing))
    return missing.map((name) => ({ field, name }))
  }

  async function inspect(client: StoredClient, hasSecret: boolean): Promise<Unserved[]> {
    const { grantTypes, responseTypes, tokenEndpointAuthMethod: method } = client
    const owners = (kind: 'clientAuthentication' | 'responseType') => new Set(doors.owners(kind).keys())
    const stored = [
      ...unserved('grant_types', grantTypes ?? [], GRANT_TYPES, servedGrantTypes(doors)),
      ...unserved(
        'response_types',
        (responseTypes ?? []).map(orderedResponseType),
        RESPONSE_TYPES,
        owners('responseType'),
      ),
      ...unserved(
        'token_endpoint_auth_method',
        typeof method === 'string' ? [method] : [],
        METHODS,
        owners('clientAuthentication'),
      ),
    ]
    assertKeys(client.metadata)
    const { algorithms } = doors.owners('clientAuthentication').get(method ?? '') ?? {}
    const { token_endpoint_auth_signing_alg: algorithm } = client.metadata
    if (typeof algorithm === 'string' && algorithms?.includes(algorithm) === false)
      throw metadataError(
        'token_endpoint_auth_signing_alg',
        reason('must be one of {names}', { names: algorithms }),
      )
    if (method === 'none' && effectiveGrantTypes(client, hasSecret).includes('client_credentials'))
      throw metadataError(
        'grant_types',
        reason('must not hold client_credentials for a client that cannot authenticate'),
      )
    if (effectiveResponseTypes(client).length > 0 && client.redirectUris.length === 0)
      throw metadataError('redirect_uris', reason('must name an address when there are response_types'))
    const metadata = toMetadata(client, hasSecret)
    profiles?.assertKept(metadata)
    for (const { check } of extensions) await check?.(metadata)
    return stored
  }

  const needsSecret = (method: string | undefined): boolean =>
    method === undefined || METHODS_WITH_SECRET.has(method)

  return {
    schemas: () => extensions.map(({ schema }) => schema),
    isOpen(member) {
      const own: TObject[] = [ClientMetadata, ...extensions.map(({ schema }) => schema)]
      const found = own.map(({ properties }) => properties[member]).find((one) => one !== undefined)
      return found && 'open' in found && found.open === true
    },
    extend(schema, check) {
      doors.assertOpen('Client metadata')
      assertSchema('Client metadata', schema)
      if (check !== undefined && typeof check !== 'function')
        throw new ConfigError('A check of client metadata must be a function.')
      for (const name of Object.keys(schema.properties)) {
        if (known.has(name)) throw new ConfigError(`The client metadata member ${name} is taken.`)
        known.add(name)
      }
      extensions.push({ schema, check })
    },
    needsSecret,
    assertSecretUsed(secret, { tokenEndpointAuthMethod, metadata }) {
      if (secret === undefined) return
      const method = tokenEndpointAuthMethod ?? undefined
      if (!needsSecret(method))
        throw metadataError(
          'client_secret',
          reason('is not used with token_endpoint_auth_method {method}', { method: `${method}` }),
        )
      const fewest = hmacKeyBytes(metadata['token_endpoint_auth_signing_alg'])
      if (method === SEALED_METHOD && Buffer.byteLength(secret) < fewest)
        throw metadataError(
          'client_secret',
          reason('must have {fewest} bytes or more with client_secret_jwt', { fewest }),
        )
    },
    assertInsecureAllowed(members) {
      if (production && members[0] !== undefined)
        throw metadataError(members[0], reason('must use https (http only to this machine)'))
    },
    warnOf(client, { insecure, members }) {
      for (const member of insecure)
        log.warn({ client, member }, 'an address without https: a production start refuses it')
      for (const { member, reason } of addressCautions(members))
        log.warn({ client, member }, `an address ${reason}: com.example.app: would be its own`)
      for (const { member, origin } of unaskedAddresses(members, unsafeOrigins))
        log.warn(
          { client, member },
          `an address that this server does not ask: UNSAFE_OUTBOUND_ORIGINS=${origin} lets it be asked`,
        )
      const caution = members.brand_color === undefined ? undefined : colorCaution(members.brand_color)
      if (caution !== undefined) log.warn({ client, member: 'brand_color' }, inEnglish(caution))
    },
    inspect,
    async check(client, hasSecret, isServed) {
      for (const { field, name } of await inspect(client, hasSecret)) {
        if (isServed?.(field, name)) continue
        const details = { client: client.clientId, field, name }
        log.warn(details, 'stored, but nothing serves it: using it is refused')
      }
    },
  }
}

/** RFC 7591 §2: public keys, by value or by address. */
function assertKeys({ jwks, jwks_uri: uri }: Bag): void {
  if (jwks === undefined) return
  if (uri !== undefined)
    throw metadataError('jwks', reason('cannot stand beside jwks_uri: keys are registered in one place'))
  try {
    parseJwkSet(jwks)
  } catch (error) {
    throw error instanceof JwkSetError ? metadataError('jwks', error.reason) : error
  }
}
