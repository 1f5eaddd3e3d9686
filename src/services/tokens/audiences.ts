/** Which resources a token is for, and what they ask of it (RFC 8707, RFC 9068 §3). */
import type { Client } from '../../doors/client.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { slashless } from '../../protocol/resource-identifier.ts'
import type { Directory } from '../directory.ts'

/** What a token is like whose resources are these. */
export interface TokenTerms {
  /** Identifiers of the resources, at least one: the `aud` claim. */
  audience: readonly string[]
  /** Seconds: the shortest of what the resources allow. */
  lifetime: number
  format: 'jwt' | 'opaque'
  /** The members by which its resources want it bound to a key, such as `dpop_bound_access_tokens`. */
  bound: ReadonlySet<string>
}

/** What a token is for, before anybody names resources. */
export interface Given {
  readonly scopes: ReadonlySet<string>
  /** Resources where something is given beside scopes (`GivenBeside`), also none; undefined where nothing is. */
  readonly beside: readonly string[] | undefined
}

export interface Audiences {
  /** The resource of each scope, by its identifier. */
  resourcesOf(scopes: Iterable<string>): Promise<ReadonlyMap<string, string>>
  /**
   * The registered identifiers of those that are called so (`Directory.resourceNamed`), each once; what is nobody's name stays
   * as it is.
   */
  registered(names: readonly string[]): Promise<readonly string[]>
  /**
   * What a request is for that named no resource: the default one of the client, or of the server, where a scope of it is
   * granted; else none in particular.
   */
  defaultFor(client: Client, scopes: ReadonlySet<string>): Promise<readonly string[]>
  /**
   * Of the resources that were named before, those that something given belongs to still. Throws `invalid_target` where that
   * is none of them.
   */
  left(given: Given, named: readonly string[]): Promise<readonly string[]>
  /**
   * The resources of what is given, narrowed to those that were asked for, and to those `within` which an approval
   * holds; where neither is said, to the default of `defaultFor`. `requested` are registered identifiers. Throws
   * `invalid_target` when one was asked for that nothing belongs to.
   */
  resolve(
    client: Client,
    given: Given,
    requested: readonly string[],
    within?: readonly string[],
  ): Promise<TokenTerms>
}

export interface AudienceOptions {
  /** The identifier of the resource of scopes that nobody placed. */
  issuer: string
  /** Seconds. */
  lifetime: number
  /** What requests are for that name no resource, where their client has no default of its own. */
  defaultResource?: string | undefined
}

export function createAudiences(
  directory: Directory,
  { issuer, lifetime: defaultLifetime, defaultResource }: AudienceOptions,
): Audiences {
  async function resourcesOf(scopes: Iterable<string>): Promise<ReadonlyMap<string, string>> {
    const found = await directory.resourcesOf(scopes)
    return new Map([...found].map(([scope, resource]) => [scope, resource ?? issuer]))
  }

  async function registeredName(name: string): Promise<string> {
    const found = name === issuer ? issuer : await directory.resourceNamed(name)
    return found ?? (slashless(name) === slashless(issuer) ? issuer : name)
  }

  /** Those that are registered still. */
  async function standing(resources: readonly string[]): Promise<readonly string[]> {
    const found = await Promise.all(
      resources.map(async (one) => one === issuer || (await directory.findResource(one)) !== null),
    )
    return resources.filter((_, at) => found[at])
  }

  async function registered(names: readonly string[]): Promise<readonly string[]> {
    if (names.length === 0) return names
    const found = new Set<string>()
    for (const name of names) found.add(await registeredName(name))
    return [...found]
  }

  /** `within` as in `resolve`. */
  async function ownersOf(
    { scopes, beside }: Given,
    within?: readonly string[],
  ): Promise<{ owners: readonly string[]; places: readonly string[] }> {
    const places = beside === undefined ? [] : await standing(beside)
    const owners = [...(await resourcesOf(scopes)).values(), ...places]
    // What names no place goes with what else is there.
    if (scopes.size === 0 && beside?.length === 0) owners.push(...(within ?? [issuer]))
    return { owners, places }
  }

  const defaultOf = ({ metadata }: Client): string | undefined =>
    (metadata['default_resource'] as string | undefined) ?? defaultResource

  async function defaultFor(
    client: Client,
    scopes: ReadonlySet<string>,
    among?: ReadonlySet<string>,
  ): Promise<readonly string[]> {
    const said = defaultOf(client)
    if (said === undefined) return []
    const resource = await registeredName(said)
    const owners = among ?? new Set((await resourcesOf(scopes)).values())
    return owners.has(resource) ? [resource] : []
  }

  return {
    resourcesOf,
    registered,
    defaultFor: async (client, scopes) => defaultFor(client, scopes),
    async left(given, named) {
      if (named.length === 0) return named
      const { owners } = await ownersOf(given)
      const found = named.filter((one) => owners.includes(one))
      if (found.length === 0) throw ofNothing()
      return found
    },
    async resolve(client, given, requested, within) {
      const { owners, places } = await ownersOf(given, within)
      const all = new Set(owners.filter((one) => within === undefined || within.includes(one)))
      if (all.size === 0 || requested.some((resource) => !all.has(resource))) throw ofNothing()
      const isFree = requested.length === 0 && within === undefined
      const usual =
        isFree && defaultOf(client) !== undefined ? await defaultFor(client, given.scopes, all) : []
      const asked = usual.length > 0 ? [...usual, ...places] : requested
      const audience = asked.length > 0 ? [...new Set(asked)] : [...all]

      let lifetime = Infinity
      let format: TokenTerms['format'] =
        client.metadata['access_token_format'] === 'opaque' ? 'opaque' : 'jwt'
      const bound = new Set<string>()
      for (const identifier of audience) {
        const resource = identifier === issuer ? null : await directory.findResource(identifier)
        lifetime = Math.min(lifetime, resource?.accessTokenLifetime ?? defaultLifetime)
        if (resource?.accessTokenFormat === 'opaque') format = 'opaque'
        if (resource?.dpopBoundAccessTokens === true) bound.add('dpop_bound_access_tokens')
        if (resource?.tlsClientCertificateBoundAccessTokens === true)
          bound.add('tls_client_certificate_bound_access_tokens')
      }
      return { audience, lifetime, format, bound }
    },
  }
}

function ofNothing(): OAuthError {
  return new OAuthError('invalid_target', 'nothing that is granted belongs to the resource')
}
