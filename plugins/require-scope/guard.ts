// The hook in front of a route: finds the token, has it verified, judges it for this route, and answers when it is not
// good. Where tokens come from and how they are verified belongs to the neighbours.
import { assertAccessToken, type AccessToken, type Verifier } from './access-token.ts'
import { assertAuthenticated, challengeOf, INSUFFICIENT, type Demand } from './authentication.ts'
import { BearerError, VerificationUnavailable } from './bearer-error.ts'
import { formatChallenge } from './challenge.ts'
import { hasOwnErrorHandler } from './error-handler.ts'
import type { HoldsScope } from './implication.ts'
import { Mismatch, mismatch } from './mismatch.ts'
import { credentialsOf, presentedToken } from './presentation.ts'
import { BEARER } from './schemes.ts'
import { boundBy } from './sender-constraint.ts'
import type {
  BoundToken,
  Confirmed,
  ConstrainedReply,
  ConstrainedRequest,
  SenderConstraint,
} from './sender-constraint.ts'

/** Marks a route (in its `config`) that stays open below a guard that was added for a whole app. */
export const openRoute = Symbol('@latchkey/require-scope: open route')
/** Marks a route (in its `config`) that has an error handler of its own. */
export const ownErrorHandler = Symbol('@latchkey/require-scope: own error handler')
/** Where the guard leaves the verified token on the request. */
export const verifiedToken = Symbol('@latchkey/require-scope: verified token')

/** The parts of a Fastify request that a guard uses, so that one hook fits every route whatever its types. */
export interface GuardedRequest extends ConstrainedRequest {
  readonly routeOptions: { readonly config: object }
  readonly server: object
  readonly log: { debug(message: string): void }
}

/** The parts of a Fastify reply that a guard uses. */
export interface GuardedReply extends ConstrainedReply {
  statusCode: number
  // What a route may send is its own affair, and nothing that every route may send is a type.
  send(body: never): unknown
}

/** Goes into a route's `onRequest` or `preHandler`. */
export type RequireScopeHook = (request: GuardedRequest, reply: GuardedReply) => Promise<unknown>

/** How one registration of the plugin judges tokens. */
export interface Policy {
  readonly verifier: Verifier
  /** The audiences of which a token of this issuer must name at least one. */
  readonly audienceOf: (issuer: string) => readonly string[]
  readonly realm: string
  readonly queryParameter: boolean
  /** Of a token that came in the query, and is good: whether it may. By default each may. */
  readonly mayBeInQuery?: ((token: AccessToken) => boolean) | undefined
  /** The ways in which tokens may be bound to a key: one list, which is full when the app is ready. */
  readonly senderConstraints: readonly SenderConstraint[]
  readonly resourceMetadata: string | undefined
  /** By default, a scope holds itself alone. */
  readonly holdsScope?: HoldsScope | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** What one route asks of a token. */
export interface Needs {
  /** All of them. */
  readonly scopes: readonly string[]
  readonly demand: Demand
}

/** A hook that lets a request pass when its token is good and has what is needed. */
export function createGuard(policy: Policy, needs: Needs): RequireScopeHook {
  return async function requireScope(request, reply) {
    const config = request.routeOptions.config as { [openRoute]?: boolean }
    if (config[openRoute] === true) return undefined
    try {
      const presented = presentedToken(request, policy.queryParameter, policy.senderConstraints)
      const token = await policy.verifier.verify(presented.value)
      assertAccessToken(token)
      assertGood(token, policy)
      if (presented.inQuery && policy.mayBeInQuery?.(token) === false)
        throw new BearerError('invalid_request', 'This access token may not come in the query')
      const bound = boundBy(token, presented, policy.senderConstraints)
      await assertShown(request, reply, bound, { value: presented.value, claims: token.claims })
      assertGranted(token, needs.scopes, policy.holdsScope)
      assertAuthenticated(token, needs.demand, policy.now())
      ;(request as { [verifiedToken]?: AccessToken })[verifiedToken] = token
      // RFC 6750 §2.3: what was fetched with a token in its URL is nobody else's.
      if (presented.inQuery) reply.header('cache-control', 'private')
      return undefined
    } catch (error) {
      if (!(error instanceof BearerError || error instanceof VerificationUnavailable)) throw error
      if (error.cause instanceof Mismatch)
        request.log.debug(`requireScope: ${error.message}: ${error.cause.message}`)
      return refuse(error, request, reply, policy, needs)
    }
  }
}

/** What the sender of a request has shown already: a proof is good once, and a route may have several guards. */
const shown = new WeakMap<object, Map<SenderConstraint, string>>()

async function assertShown(
  request: GuardedRequest,
  reply: GuardedReply,
  bound: readonly Confirmed[],
  token: Omit<BoundToken, 'confirmation'>,
): Promise<void> {
  for (const [constraint, confirmation] of bound) {
    const before = shown.get(request) ?? new Map<SenderConstraint, string>()
    if (before.get(constraint) === token.value) continue
    await constraint.verify(request, { ...token, confirmation }, reply)
    shown.set(request, before.set(constraint, token.value))
  }
}

/** A hook for routes that say nothing: it lets pass whom another guard has let pass, and nobody else. */
export async function refuseUnguarded(request: GuardedRequest, reply: GuardedReply): Promise<unknown> {
  const { config } = request.routeOptions as { config: { [openRoute]?: boolean } }
  if (config[openRoute] === true || (request as { [verifiedToken]?: unknown })[verifiedToken])
    return undefined
  reply.statusCode = 403
  reply.header('cache-control', 'no-store')
  reply.header('content-type', 'application/json; charset=utf-8')
  const body = { error: 'access_denied', error_description: 'This route says nothing of who may use it' }
  reply.send(JSON.stringify(body) as never)
  return reply
}

function assertGood(token: AccessToken, { audienceOf, now }: Policy): void {
  // An Invalid Date is no instant at all.
  if (!(now() < token.expiresAt.getTime())) throw new BearerError('invalid_token', 'The token has expired')
  const accepted = audienceOf(token.issuer)
  if (!token.audience.some((audience) => accepted.includes(audience))) {
    const cause = mismatch('aud', token.audience, accepted)
    throw new BearerError('invalid_token', 'The token is for another audience', { cause })
  }
}

function assertGranted(
  token: AccessToken,
  scopes: readonly string[],
  holdsScope: HoldsScope = (granted, scope) => granted.has(scope),
): void {
  if (scopes.every((scope) => holdsScope(token.scopes, scope))) return
  throw new BearerError('insufficient_scope', 'The token lacks a scope that this operation needs')
}

/**
 * Sets status and headers, then leaves the body to the app's own error handler where there is one, by throwing.
 * Fastify's default handler has no room for the members of RFC 6750, so instead of it the guard answers by itself.
 */
function refuse(
  error: BearerError | VerificationUnavailable,
  request: GuardedRequest,
  reply: GuardedReply,
  policy: Policy,
  needs: Needs,
): unknown {
  reply.statusCode = error.statusCode
  reply.header('cache-control', 'no-store')
  if (error instanceof VerificationUnavailable) reply.header('retry-after', String(error.retryAfter))
  else {
    for (const [name, value] of Object.entries(error.headers)) reply.header(name, value)
    reply.header('www-authenticate', challengesFor(error, request, policy, needs))
  }
  const config = request.routeOptions.config as { [ownErrorHandler]?: boolean }
  if (config[ownErrorHandler] === true || hasOwnErrorHandler(request.server)) throw error
  reply.header('content-type', 'application/json; charset=utf-8')
  // A string, because a response schema of the route must not reshape it.
  reply.send(JSON.stringify(error.body) as never)
  return reply
}

/** Under which a token can pass: where each must be bound in a way that has a scheme of its own, that alone (RFC 9449 §7.1). */
function schemesFor(constraints: readonly SenderConstraint[]): readonly string[] {
  const own = constraints.filter(({ scheme }) => scheme !== BEARER)
  const required = own.filter((constraint) => constraint.required === true)
  const schemes = required.length > 0 ? required : [{ scheme: BEARER }, ...own]
  return [...new Set(schemes.map(({ scheme }) => scheme))]
}

/**
 * What was presented is told in its own scheme what is wrong with it. Beside that, where nothing came or a bearer token is no
 * good, every other scheme is named (RFC 9449 §7.2).
 */
function challengesFor(
  error: BearerError,
  request: GuardedRequest,
  policy: Policy,
  { scopes, demand }: Needs,
): string {
  const { realm, resourceMetadata, senderConstraints } = policy
  const schemes = schemesFor(senderConstraints)
  const sent = credentialsOf(request, senderConstraints)?.scheme ?? BEARER
  const presented = schemes.includes(sent) ? sent : schemes[0]
  const namesAll = error.error === undefined || (error.error === 'invalid_token' && presented === BEARER)
  return schemes
    .filter((scheme) => namesAll || scheme === presented)
    .map((scheme) => {
      const own = senderConstraints.filter((constraint) => constraint.scheme === scheme)
      const told = scheme === presented ? error.error : undefined
      const challenge = {
        ...Object.assign({}, ...own.map((constraint) => constraint.challenge)),
        realm,
        error: told,
        error_description: told === undefined ? undefined : error.message,
        ...(error.error === INSUFFICIENT ? challengeOf(demand) : {}),
        ...(scheme === presented ? error.challenge : {}),
        scope: error.statusCode === 400 ? undefined : scopes.join(' '),
        resource_metadata: resourceMetadata,
      }
      return formatChallenge(challenge, scheme)
    })
    .join(', ')
}
