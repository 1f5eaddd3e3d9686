// The Fastify plugin: puts options, verifier and guard together, and hands out what an app uses: `requireScope(...)`,
// `config.scope` on a route, and `request.token` behind either.
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { AccessToken } from './access-token.ts'
import { readDemand, type AuthenticationDemand } from './authentication.ts'
import { createGuard, verifiedToken } from './guard.ts'
import type { Needs, Policy, RequireScopeHook } from './guard.ts'
import { IssuerVerifier } from './issuer-verifier.ts'
import { assertNodeVersion } from './node-version.ts'
import type { RequireScopeOptions } from './options.ts'
import { metadataUrl, serveMetadata } from './resource-metadata.ts'
import { guardRoutes } from './routes.ts'
import { assertScopes } from './scope.ts'
import { readOptions, type Settings } from './settings.ts'
import { trustIssuer } from './trusted-issuer.ts'
import type { TrustedIssuer } from './trusted-issuer.ts'

export type { AccessToken, Verifier } from './access-token.ts'
export type { AuthenticationDemand } from './authentication.ts'
export { BearerError, VerificationUnavailable } from './bearer-error.ts'
export type { BearerErrorCode, BearerErrorOptions } from './bearer-error.ts'
export type { Relaxation } from './claims.ts'
export { dpop, type DpopOptions } from './dpop/dpop.ts'
export type { Once } from './dpop/seen-proofs.ts'
export { mutualTls, type MutualTlsOptions } from './mutual-tls/mutual-tls.ts'
export type { RequireScopeHook } from './guard.ts'
export type {
  IssuerModeOptions,
  IssuerOptions,
  KeyOptions,
  RequireScopeOptions,
  VerifierModeOptions,
} from './options.ts'
export type {
  BoundToken,
  ConstrainedReply,
  ConstrainedRequest,
  SenderConstraint,
} from './sender-constraint.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The scopes, all of them, that a token needs for this route. An empty list: any good token. False: everybody, where routes that say
     * nothing are refused (`unguarded: 'deny'`).
     */
    scope?: string | readonly string[] | false | undefined
    /** Beside `scope`: how, and how lately, the person must have signed in. */
    authentication?: AuthenticationDemand | undefined
  }
  interface FastifyInstance {
    /**
     * A hook for `onRequest` or `preHandler` that lets a request pass when its access token is good and has all of these
     * scopes (RFC 6750). Without scopes any good token will do. Tokens in a form body are seen by `preHandler` only. At the end, what is
     * demanded of the sign-in behind it (RFC 9470): `requireScope('pay', { acr: '2', maxAge: 300 })`.
     * @throws {TypeError} for a name that is no scope-token (RFC 6749 §3.3), and for a demand that cannot be meant
     */
    requireScope(...needs: string[] | [...string[], AuthenticationDemand]): RequireScopeHook
  }
  interface FastifyRequest {
    /** The caller's verified token. Throws on a route that is not guarded. */
    readonly token: AccessToken
  }
}

const plugin: FastifyPluginAsync<RequireScopeOptions> = async (fastify, options) => {
  assertNodeVersion()
  const settings = readOptions(options)
  const { metadata, resource, root = fastify } = settings
  const policy: Policy = {
    ...settings,
    verifier: settings.verifier ?? createIssuerVerifier(fastify, settings),
    resourceMetadata: resource === undefined || metadata === undefined ? undefined : metadataUrl(resource),
  }
  const scopes = new Set<string>()
  const guards = new WeakSet<object>()
  const create = (needs: Needs): RequireScopeHook => {
    for (const scope of needs.scopes) scopes.add(scope)
    const guard = createGuard(policy, needs)
    guards.add(guard)
    return guard
  }
  const requireScope = (...wanted: (string | AuthenticationDemand)[]): RequireScopeHook => {
    const last = wanted.at(-1)
    const demand = typeof last === 'object' && last !== null && !Array.isArray(last) ? last : undefined
    const needed = assertScopes(demand === undefined ? wanted : wanted.slice(0, -1))
    return create({ scopes: needed, demand: readDemand(demand) })
  }
  fastify.decorate('requireScope', requireScope)
  decorateRequest(fastify)
  const { unguarded } = settings
  guardRoutes(fastify, { requireScope, unguarded, create, has: (hook) => guards.has(hook) })
  if (resource !== undefined && metadata !== undefined) {
    const authorizationServers = settings.issuers.map(({ issuer }) => issuer)
    const { queryParameter, senderConstraints } = settings
    const extra = { senderConstraints, extra: metadata }
    serveMetadata(root, { resource, authorizationServers, queryParameter, scopes, ...extra })
  }
}

export default fp(plugin, { name: '@latchkey/require-scope', fastify: '5.x' })

function createIssuerVerifier(fastify: FastifyInstance, settings: Settings): IssuerVerifier {
  const closing = new AbortController()
  fastify.addHook('onClose', async () => closing.abort())
  const surroundings = { log: fastify.log, signal: closing.signal, now: settings.now }
  const issuers = settings.issuers.map((policy) => trustIssuer(policy, settings.keys, surroundings))
  for (const { issuer, insecureHttp } of issuers) {
    if (insecureHttp) fastify.log.warn({ issuer }, 'requireScope: dangerouslyAllowInsecureHttp is set')
  }
  fastify.addHook('onReady', () => prefetch(issuers, settings.prefetch))
  return new IssuerVerifier(issuers, settings.now)
}

async function prefetch(issuers: readonly TrustedIssuer[], when: Settings['prefetch']): Promise<void> {
  if (when === 'lazy') return
  const fetches = issuers.map(async ({ issuer, keys }) => {
    if (await keys.refresh()) return
    if (when === 'required') throw new Error(`requireScope: the keys of ${issuer} could not be fetched`)
  })
  if (when === 'required') await Promise.all(fetches)
}

function decorateRequest(fastify: FastifyInstance): void {
  // Inherited from a registration further out.
  if (fastify.hasRequestDecorator(verifiedToken)) return
  fastify.decorateRequest(verifiedToken, null)
  try {
    fastify.decorateRequest('token', { getter: tokenOf })
  } catch (cause) {
    throw new TypeError(
      'requireScope: requests are decorated with token already, by which routes read the verified one: call yours something else',
      { cause },
    )
  }
}

function tokenOf(this: FastifyRequest): AccessToken {
  const token = (this as { [verifiedToken]?: AccessToken | null })[verifiedToken]
  if (token) return token
  throw new Error(`request.token: no requireScope guards ${this.method} ${this.routeOptions.url ?? this.url}`)
}
