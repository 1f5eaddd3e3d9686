/** Which resources a token is for, and what they ask of it (RFC 8707, RFC 9068 §3). */
import type { Client } from '../../doors/client.ts'
import { OAuthError } from '../../protocol/errors.ts'
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

export interface Audiences {
  /** The resource of each scope, by its identifier. */
  resourcesOf(scopes: Iterable<string>): Promise<ReadonlyMap<string, string>>
  /**
   * The resources of `scopes`, narrowed to those that were asked for, and to those `within` which an approval
   * holds. Throws `invalid_target` when one was asked for that no granted scope belongs to.
   */
  resolve(
    client: Client,
    scopes: ReadonlySet<string>,
    requested: readonly string[],
    within?: readonly string[],
  ): Promise<TokenTerms>
}

/** `defaultResource` is the issuer; `defaultLifetime` in seconds. */
export function createAudiences(
  directory: Directory,
  defaultResource: string,
  defaultLifetime: number,
): Audiences {
  async function resourcesOf(scopes: Iterable<string>): Promise<ReadonlyMap<string, string>> {
    const found = await directory.resourcesOf(scopes)
    return new Map([...found].map(([scope, resource]) => [scope, resource ?? defaultResource]))
  }

  return {
    resourcesOf,
    async resolve(client, scopes, requested, within) {
      const ofScopes = new Set<string>()
      for (const resource of (await resourcesOf(scopes)).values()) {
        if (within === undefined || within.includes(resource)) ofScopes.add(resource)
      }
      if (ofScopes.size === 0 || requested.some((resource) => !ofScopes.has(resource)))
        throw new OAuthError('invalid_target', 'no granted scope belongs to the resource')
      const audience = requested.length > 0 ? [...new Set(requested)] : [...ofScopes]

      let lifetime = Infinity
      let format: TokenTerms['format'] =
        client.metadata['access_token_format'] === 'opaque' ? 'opaque' : 'jwt'
      const bound = new Set<string>()
      for (const identifier of audience) {
        const resource = identifier === defaultResource ? null : await directory.findResource(identifier)
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
