// Tokens that are good only for who holds a key: what one is bound to (`cnf`, RFC 7800), and that whoever presents it
// shows it. How a key is shown (DPoP, a client certificate) is for whoever gives the constraint.
import type { Socket } from 'node:net'
import type { AccessToken } from './access-token.ts'
import { BearerError } from './bearer-error.ts'
import type { CarryingRequest, PresentedToken } from './presentation.ts'
import { BEARER, schemeOfAll } from './schemes.ts'

/** The parts of a Fastify request from which it can be told who sent it. */
export interface ConstrainedRequest extends CarryingRequest {
  readonly method: string
  /** Path and query, as they were sent. */
  readonly originalUrl: string
  readonly headers: CarryingRequest['headers'] &
    Readonly<Record<string, string | readonly string[] | undefined>>
  /** Of the connection: what its certificate is, where this process speaks TLS (RFC 8705). */
  readonly raw: CarryingRequest['raw'] & { readonly socket: Socket }
}

/** The part of a Fastify reply on which more can be said, such as the next nonce. */
export interface ConstrainedReply {
  header(name: string, value: string): unknown
}

/** A token whose signature or row, time and audience were found good. */
export interface BoundToken {
  /** As it was presented. */
  readonly value: string
  /** What it is bound to: the member of its `cnf` that has the constraint's name. */
  readonly confirmation: string
  readonly claims: Readonly<Record<string, unknown>>
}

/** One way to bind tokens to a key, such as DPoP (RFC 9449) or client certificates (RFC 8705). */
export interface SenderConstraint {
  /** The HTTP authentication scheme under which its tokens are presented: `DPoP`, or `Bearer` where they need none of their own. */
  readonly scheme: string
  /** The member of `cnf` that is its own: `jkt`, `x5t#S256`. */
  readonly confirmation: string
  /** Further parameters of a challenge in its scheme: `{ algs: 'ES256' }`. */
  readonly challenge?: Readonly<Record<string, string>> | undefined
  /** Members for the metadata of whoever checks it, under their wire names (RFC 9728 §2, RFC 8414 §2). */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  /** Whether every token must be bound by it; default false. */
  readonly required?: boolean | undefined
  /**
   * Whether whoever sent the request holds what the token is bound to.
   * @throws {BearerError} with a code of its own, such as `invalid_dpop_proof`, and headers if need be: 401
   * @throws {VerificationUnavailable} when it cannot tell
   */
  verify(request: ConstrainedRequest, token: BoundToken, reply: ConstrainedReply): Promise<void>
}

/** A constraint with what it binds to. */
export type Confirmed = readonly [constraint: SenderConstraint, confirmation: string]

/** Of a token that is bound to nothing. */
const NONE: readonly Confirmed[] = []

/**
 * What of a request must still be shown before its token may pass. Stolen, a bound one is no bearer token; and one that is
 * bound to nothing gains nothing from a proof.
 * @throws {BearerError} `invalid_token` where it is not presented as it must be
 */
export function boundBy(
  { claims }: AccessToken,
  presented: PresentedToken,
  constraints: readonly SenderConstraint[],
): readonly Confirmed[] {
  if (!Object.hasOwn(claims, 'cnf')) {
    assertRequired(NONE, constraints)
    if (presented.scheme === BEARER) return NONE
    throw refused(`The token is bound to no key: it is presented as ${BEARER}`)
  }
  const bound = confirmedBy(claims['cnf'], constraints)
  const scheme = bound && schemeOfAll(bound.map(([constraint]) => constraint))
  if (bound === undefined || scheme === undefined)
    throw refused('The token is bound to a key, which is not supported here')
  if (presented.scheme !== scheme) throw refused(`The token is bound to a key: it is presented as ${scheme}`)
  assertRequired(bound, constraints)
  return bound
}

function assertRequired(bound: readonly Confirmed[], constraints: readonly SenderConstraint[]): void {
  const missing = constraints.find(
    (one) => one.required === true && !bound.some(([constraint]) => constraint === one),
  )
  if (missing !== undefined)
    throw refused(`The token must be bound to a key, and be presented as ${missing.scheme}`)
}

/**
 * The constraints that a `cnf` names. Undefined where one of its members is not known here: nobody could tell who may use the
 * token (RFC 7800 §3.1).
 */
export function confirmedBy(
  cnf: unknown,
  constraints: readonly SenderConstraint[],
): readonly Confirmed[] | undefined {
  if (typeof cnf !== 'object' || cnf === null) return undefined
  const found: Confirmed[] = []
  for (const [name, confirmation] of Object.entries(cnf)) {
    const constraint = constraints.find((one) => one.confirmation === name)
    if (constraint === undefined || typeof confirmation !== 'string') return undefined
    found.push([constraint, confirmation])
  }
  return found.length === 0 ? undefined : found
}

function refused(description: string): BearerError {
  return new BearerError('invalid_token', description)
}
