/**
 * Upstreams that speak OpenID Connect: the authorization code flow with PKCE, `state`, `nonce` and `iss` (RFC 7636, RFC 9207, OpenID Connect Core
 * §3.1), and an ID token that is signed.
 */
import type { FastifyInstance } from 'fastify'
import type * as Library from 'openid-client'
import { kindOf } from '../../src/protocol/upstream-kinds.ts'
import type { Upstream } from '../../src/services/upstreams/upstream-registry.ts'
import { answersByForm, APPLE_SCOPE, appleSecret, createAppleUser } from './apple.ts'
import { failing } from './failures.ts'
import { assertSendable, callbackOf, createAssertSafe, guarded, isSubject } from './outbound.ts'
import type { Provider } from './provider.ts'

const SCOPE = ['openid', 'profile', 'email']

function signedOutOf({ oauth }: FastifyInstance, id: string): string {
  return `${oauth.issuer}/upstream/${id}/signed-out`
}

export function createOpenid(fastify: FastifyInstance): Provider {
  const fetch = guarded(fastify.oauth.fetch)
  const assertSafe = createAssertSafe(fastify)
  const user = createAppleUser(fastify)

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
      await authentication(library, upstream, metadata),
    )
    config[library.customFetch] = fetch
    library.allowInsecureRequests(config)
    // The signature of the ID token is looked at, and not only where it came from.
    library.enableNonRepudiationChecks(config)
    return config
  }

  return {
    authorizationUrl: async (upstream, { state, nonce, verifier, parameters }) =>
      failing(async () => {
        const library = await import('openid-client')
        const config = await configure(library, upstream)
        const scope = upstream.scope ?? (isApple(upstream) ? APPLE_SCOPE : SCOPE)
        const url = library.buildAuthorizationUrl(config, {
          ...parameters,
          redirect_uri: callbackOf(fastify, upstream.id),
          scope: scope.join(' '),
          ...(isApple(upstream) && answersByForm(scope) ? { response_mode: 'form_post' } : {}),
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
        if (said === undefined || !isSubject(said.sub)) throw new Error('its ID token names nobody')
        return {
          issuer: said.iss,
          subject: said.sub,
          authTime: said.auth_time,
          idToken: tokens.id_token!,
          async claims() {
            if (isApple(upstream))
              return { ...user.claimsOf(new URLSearchParams(query).get('user'), state), ...said }
            if (config.serverMetadata().userinfo_endpoint === undefined) return said
            const info = await failing(async () => {
              assertSendable(tokens.access_token)
              return library.fetchUserInfo(config, tokens.access_token, said.sub)
            })
            return { ...info, ...said }
          },
        }
      }),
  }
}

function isApple(upstream: Upstream): boolean {
  return kindOf(upstream) === 'apple'
}

/** As its metadata says (Discovery §3), whose default is Basic. */
async function authentication(
  library: typeof Library,
  upstream: Upstream,
  { token_endpoint_auth_methods_supported: methods }: Library.ServerMetadata,
): Promise<Library.ClientAuth> {
  if (isApple(upstream)) return library.ClientSecretPost(await appleSecret(upstream))
  const known = upstream.secret()
  if (known === undefined) return library.None()
  return methods?.includes('client_secret_basic') === false
    ? library.ClientSecretPost(known)
    : library.ClientSecretBasic(known)
}
