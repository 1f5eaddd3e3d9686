/**
 * What is said to an upstream and what it answers, by `openid-client`: the authorization code flow with PKCE, `state`, `nonce` and `iss`
 * (RFC 7636, RFC 9207, OpenID Connect Core §3.1). Every request goes the guarded way out.
 */
import type { FastifyInstance } from 'fastify'
import type * as Library from 'openid-client'
import { type Fetch, OutboundError } from '../../src/doors/outbound.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { isStorable } from '../../src/protocol/json.ts'
import type { Upstream } from '../../src/services/upstreams/upstream-registry.ts'

/** Who somebody is there, proven by a signed ID token. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  /** Seconds since the epoch; undefined where it does not say. */
  readonly authTime: number | undefined
  /** As it came. */
  readonly idToken: string
  /** By the names there: what the ID token says, and the userinfo endpoint where there is one. */
  claims(): Promise<Readonly<Record<string, unknown>>>
}

/** What only this answer may have. */
export interface Checks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

export interface Asked extends Checks {
  /** Parameters of the request beside those of the flow. */
  readonly parameters: Readonly<Record<string, string>>
}

export type Failure = 'denied' | 'unreachable' | 'unusable'

/** Nobody is proven; `failure` is for people, the cause for the log. */
export class UpstreamFailure extends Error {
  readonly failure: Failure
  /** Whether the upstream says of what it was asked that it cannot be asked (RFC 6749 §4.1.2.1). */
  readonly isOfRequest: boolean

  constructor(failure: Failure, cause: unknown) {
    super(`the upstream's answer is ${failure}`, { cause })
    this.failure = failure
    const { code, error } = (cause ?? {}) as { code?: unknown; error?: unknown }
    this.isOfRequest = code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR' && error === 'invalid_request'
  }
}

export interface Provider {
  /** Where the browser is sent. Throws `UpstreamFailure`. */
  authorizationUrl(upstream: Upstream, asked: Asked): Promise<string>
  /** Where somebody is signed out (OpenID Connect RP-Initiated Logout 1.0 §2); null where it has no such address. Throws `UpstreamFailure`. */
  signOutUrl(
    upstream: Upstream,
    asked: { readonly idToken: string; readonly state: string },
  ): Promise<string | null>
  /** Of what came back to its callback, `query` as it came. Throws `UpstreamFailure`. */
  identify(upstream: Upstream, query: string, checks: Checks): Promise<Identity>
}

const SCOPE = ['openid', 'profile', 'email']
/** Seconds for which its metadata and keys are not asked for again. */
const FRESH = 60
/** Characters of a `sub` (OpenID Connect Core §2). */
const LONGEST_SUBJECT = 255

export function callbackOf({ oauth }: FastifyInstance, id: string): string {
  return `${oauth.issuer}/upstream/${id}/callback`
}

function signedOutOf({ oauth }: FastifyInstance, id: string): string {
  return `${oauth.issuer}/upstream/${id}/signed-out`
}

export function createProvider(fastify: FastifyInstance): Provider {
  const { UNSAFE_OUTBOUND_ORIGINS: unsafe } = kernelOf(fastify).config
  const fetch = guarded(fastify.oauth.fetch)

  async function configure(library: typeof Library, upstream: Upstream): Promise<Library.Configuration> {
    const options = {
      [library.customFetch]: fetch,
      // Whether it may be plain http is for the guarded way out to say.
      execute: [library.allowInsecureRequests],
    }
    const found = await library.discovery(
      new URL(upstream.issuer),
      upstream.client_id,
      {},
      undefined,
      options,
    )
    const metadata = found.serverMetadata()
    // Discovery §4.3, and for an upstream with one issuer for many tenants, whose names any of them could choose.
    if (metadata.issuer !== upstream.issuer) throw new Error(`its issuer is ${metadata.issuer}`)
    const config = new library.Configuration(
      metadata,
      upstream.client_id,
      {},
      authentication(library, upstream, metadata),
    )
    config[library.customFetch] = fetch
    library.allowInsecureRequests(config)
    // The signature of the ID token is looked at, and not only where it came from.
    library.enableNonRepudiationChecks(config)
    return config
  }

  function assertSafe(url: URL, what: string): void {
    if (url.protocol !== 'https:' && !unsafe.includes(url.origin)) throw new Error(`its ${what} is not https`)
  }

  return {
    authorizationUrl: async (upstream, { state, nonce, verifier, parameters }) =>
      failing(async () => {
        const library = await import('openid-client')
        const config = await configure(library, upstream)
        const url = library.buildAuthorizationUrl(config, {
          ...parameters,
          redirect_uri: callbackOf(fastify, upstream.id),
          scope: (upstream.scope ?? SCOPE).join(' '),
          state,
          nonce,
          code_challenge: await library.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        })
        assertSafe(url, 'authorization endpoint')
        return url.href
      }),

    signOutUrl: async (upstream, { idToken, state }) =>
      failing(async () => {
        const library = await import('openid-client')
        const config = await configure(library, upstream)
        if (config.serverMetadata().end_session_endpoint === undefined) return null
        const url = library.buildEndSessionUrl(config, {
          id_token_hint: idToken,
          post_logout_redirect_uri: signedOutOf(fastify, upstream.id),
          state,
        })
        assertSafe(url, 'end session endpoint')
        return url.href
      }),

    identify: async (upstream, query, { state, nonce, verifier }) =>
      failing(async () => {
        const library = await import('openid-client')
        const config = await configure(library, upstream)
        const tokens = await library.authorizationCodeGrant(
          config,
          new URL(`${callbackOf(fastify, upstream.id)}?${query}`),
          { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
        )
        const said = tokens.claims()
        if (said === undefined || said.sub.length > LONGEST_SUBJECT || !isStorable(said.sub))
          throw new Error('its ID token names nobody')
        return {
          issuer: said.iss,
          subject: said.sub,
          authTime: said.auth_time,
          idToken: tokens.id_token!,
          async claims() {
            if (config.serverMetadata().userinfo_endpoint === undefined) return said
            const info = await failing(async () =>
              library.fetchUserInfo(config, tokens.access_token, said.sub),
            )
            return { ...info, ...said }
          },
        }
      }),
  }
}

/** As its metadata says (Discovery §3), whose default is Basic. */
function authentication(
  library: typeof Library,
  { secret }: Upstream,
  { token_endpoint_auth_methods_supported: methods }: Library.ServerMetadata,
): Library.ClientAuth {
  const known = secret()
  if (known === undefined) return library.None()
  return methods?.includes('client_secret_basic') === false
    ? library.ClientSecretPost(known)
    : library.ClientSecretBasic(known)
}

function guarded(fetch: Fetch): Library.CustomFetch {
  return async (address, { method, headers, body }) => {
    const { accept = 'application/json', authorization } = headers
    // What anybody may read is kept.
    if (method === 'GET' && authorization === undefined)
      return fetch(address, { headers: { accept }, maxAge: FRESH })
    const sent = typeof body === 'string' || body instanceof URLSearchParams ? { body } : {}
    return fetch(address, { method: method === 'POST' ? 'POST' : 'GET', headers, ...sent })
  }
}

async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof UpstreamFailure ? error : new UpstreamFailure(failureOf(error), error)
  }
}

/** What has a code is `openid-client`'s, and says in `error` what the upstream said. */
function failureOf(error: unknown): Failure {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof OutboundError || at.name === 'TimeoutError') return 'unreachable'
    if (at.cause instanceof Response && at.cause.status >= 500) return 'unreachable'
    const { error: said } = at as { error?: unknown }
    if (said === 'access_denied') return 'denied'
    if (said === 'server_error' || said === 'temporarily_unavailable') return 'unreachable'
  }
  return 'unusable'
}
