/**
 * Upstreams that speak OAuth 2.0 alone: the authorization code flow with PKCE, `state` and, where it comes, `iss` (RFC 6749 §4.1, RFC 7636,
 * RFC 9207). No ID token says who somebody is: their access token is shown at the userinfo endpoint, and what that answers says it.
 */
import type { FastifyInstance } from 'fastify'
import type * as Library from 'openid-client'
import type { Fetch } from '../../src/doors/outbound.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { isObject, parseJson } from '../../src/protocol/json.ts'
import { endpointsOf, kindOf } from '../../src/protocol/upstream-kinds.ts'
import type { Upstream } from '../../src/services/upstreams/upstream-registry.ts'
import type { Ask, Dialect, Userinfo } from './dialect.ts'
import { failing } from './failures.ts'
import { GITHUB_DIALECT } from './github.ts'
import { assertSendable, callbackOf, createAssertSafe, guarded, isSubject } from './outbound.ts'
import type { Provider } from './provider.ts'
import { withTokenAnswer } from './token-answer.ts'

/** By what is registered of it. */
function dialectOf(upstream: Upstream): Dialect {
  if (kindOf(upstream) === 'github') return GITHUB_DIALECT
  return {
    accept: 'application/json',
    scope: [],
    authenticationMethod: upstream.token_endpoint_auth_method ?? 'client_secret_basic',
    subjectClaim: upstream.subject_claim ?? 'sub',
    // Nobody says that it knows any.
    parameters: () => ({}),
    claims: async (userinfo) => userinfo,
  }
}

export function createOAuth(fastify: FastifyInstance): Provider {
  const { fetch } = fastify.oauth
  const { upstreams } = kernelOf(fastify)
  const assertSafe = createAssertSafe(fastify)

  /** Nothing that it says shows that the issuer is its own: who is known by another service of that name would be taken for its people. */
  async function assertOwnName(upstream: Upstream): Promise<void> {
    const { id, issuer } = upstream
    const other = (await upstreams.all()).find(
      (one) => one.issuer === issuer && whoseOf(one) !== whoseOf(upstream),
    )
    if (other !== undefined)
      throw new Error(`the upstreams ${id} and ${other.id} have one issuer, and are not one service`)
  }

  async function configure(library: typeof Library, upstream: Upstream): Promise<Library.Configuration> {
    await assertOwnName(upstream)
    const config = new library.Configuration(
      { issuer: upstream.issuer, ...endpointsOf(upstream)! },
      upstream.client_id,
      {},
      authentication(library, upstream),
    )
    config[library.customFetch] = withTokenAnswer(guarded(fetch))
    // Whether it may be plain http is for the guarded way out to say.
    library.allowInsecureRequests(config)
    return config
  }

  const scopeOf = (upstream: Upstream): readonly string[] => upstream.scope ?? dialectOf(upstream).scope

  return {
    authorizationUrl: async (upstream, { state, verifier, parameters }) =>
      failing(async () => {
        const library = await import('openid-client')
        const scope = scopeOf(upstream).join(' ')
        const url = library.buildAuthorizationUrl(await configure(library, upstream), {
          ...dialectOf(upstream).parameters(parameters),
          redirect_uri: callbackOf(fastify, upstream.id),
          ...(scope === '' ? {} : { scope }),
          state,
          code_challenge: await library.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        })
        assertSafe(url, 'authorization endpoint')
        return url.href
      }),

    signOutUrl: async () => null,

    identify: async (upstream, query, { state, verifier }) =>
      failing(async () => {
        const library = await import('openid-client')
        const tokens = await library.authorizationCodeGrant(
          await configure(library, upstream),
          new URL(`${callbackOf(fastify, upstream.id)}?${query}`),
          { expectedState: state, pkceCodeVerifier: verifier },
        )
        const [dialect, endpoints] = [dialectOf(upstream), endpointsOf(upstream)!]
        assertSendable(tokens.access_token)
        const ask: Ask = async (address) => askWith(fetch, address, tokens.access_token, dialect.accept)
        const userinfo = await ask(endpoints.userinfo_endpoint)
        if (!isObject(userinfo)) throw new Error('its userinfo is no JSON object')
        const { subject_claim: subjectClaim = 'sub' } = upstream
        return {
          issuer: upstream.issuer,
          ...(subjectClaim === 'sub' ? {} : { subjectClaim }),
          subject: subjectIn(userinfo, dialect.subjectClaim),
          authTime: undefined,
          idToken: undefined,
          claims: async () =>
            failing(async () => dialect.claims(userinfo, scopeOf(upstream), ask, endpoints)),
        }
      }),
  }
}

/** What says whose an account there is. */
function whoseOf(upstream: Upstream): string {
  return JSON.stringify([endpointsOf(upstream)?.userinfo_endpoint, dialectOf(upstream).subjectClaim])
}

/** RFC 6749 §2.3.1. */
function authentication(library: typeof Library, upstream: Upstream): Library.ClientAuth {
  const secret = upstream.secret()
  if (secret === undefined) return library.None()
  return dialectOf(upstream).authenticationMethod === 'client_secret_post'
    ? library.ClientSecretPost(secret)
    : library.ClientSecretBasic(secret)
}

/** Throws with what it answered, where that is no success. */
async function askWith(fetch: Fetch, address: string, accessToken: string, accept: string): Promise<unknown> {
  const headers = { accept, authorization: `Bearer ${accessToken}` }
  const response = await fetch(address, { headers })
  if (response.status !== 200)
    throw new Error(`${new URL(address).pathname} answers ${response.status}`, { cause: response })
  return parseJson(await response.text())
}

/** A number is told by its digits; one that is not exact would be that of several people. Throws where nobody is named. */
function subjectIn(userinfo: Userinfo, claim: string): string {
  const said = Object.hasOwn(userinfo, claim) ? userinfo[claim] : undefined
  const subject = Number.isSafeInteger(said) ? String(said) : said
  if (typeof subject !== 'string' || !isSubject(subject)) throw new Error(`its userinfo has no ${claim}`)
  return subject
}
