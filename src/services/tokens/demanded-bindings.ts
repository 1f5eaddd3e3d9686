/**
 * Who wants access tokens bound to a key, by a member of the client or of a resource, gets no others: also where nobody is
 * registered any more who could bind them.
 */
import type { Client } from '../../doors/client.ts'
import type { Granted } from '../../doors/facts.ts'
import type { SenderConstraint } from '../../doors/sender-constraint.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Binding } from '../../protocol/facts.ts'
import type { TokenTerms } from './audiences.ts'

interface Demand {
  /** Of client metadata, and of resources. */
  readonly member: string
  /** The member of `cnf` that its tokens have. */
  readonly confirmation: string
  /** Of a request that shows nothing. */
  readonly error: string
  readonly description: string
}

const DEMANDS: readonly Demand[] = [
  {
    member: 'dpop_bound_access_tokens',
    confirmation: 'jkt',
    error: 'invalid_dpop_proof',
    description: 'the access token must be bound: the request needs a DPoP proof',
  },
  {
    member: 'tls_client_certificate_bound_access_tokens',
    confirmation: 'x5t#S256',
    error: 'invalid_request',
    description: 'the access token must be bound: the connection needs a client certificate',
  },
]

/** Whether the client, or a resource of these terms, wants its access tokens bound. */
export function demandsBinding({ metadata }: Client, terms?: Pick<TokenTerms, 'bound'>): boolean {
  return DEMANDS.some(({ member }) => metadata[member] === true || terms?.bound.has(member) === true)
}

/**
 * Without what was shown, and binds on demand alone, where neither the client nor a resource of these terms demands it, nor what it
 * was granted for is bound. Who must be bound by anything is bound by that too, where there is nothing else.
 */
export function boundAsDemanded(
  granted: Granted,
  { metadata }: Client,
  { bound }: TokenTerms,
  constraints: () => readonly SenderConstraint[],
): Granted {
  if (granted.binding === undefined) return granted
  const { binding, staysBound = [], ...facts } = granted
  const isWanted = (confirmation: string): boolean =>
    staysBound.includes(confirmation) ||
    DEMANDS.some(
      (one) => one.confirmation === confirmation && (metadata[one.member] === true || bound.has(one.member)),
    )
  const optional = constraints()
    .filter(({ onDemand }) => onDemand)
    .map(({ confirmation }) => confirmation)
  const kept = Object.entries(binding.cnf).filter(([name]) => !optional.includes(name) || isWanted(name))
  if (kept.length > 0) return { ...facts, binding: { ...binding, cnf: Object.fromEntries(kept) } }
  return metadata['require_bound_access_tokens'] === true ? granted : facts
}

/**
 * What the refresh token of a public client is bound to from this refresh on, where it was bound to nothing (RFC 9449 §5): not to what binds
 * on demand and a resource alone demands, since tokens for others need none of it. Undefined for nothing.
 */
export function boundFromNowOn(
  granted: Granted,
  client: Client,
  terms: TokenTerms,
  constraints: () => readonly SenderConstraint[],
): Binding | undefined {
  const { continues, binding } = granted
  if (continues === undefined || binding === undefined || !client.isPublic()) return undefined
  if (continues.authorization.binding !== undefined) return undefined
  return boundAsDemanded(granted, client, { ...terms, bound: new Set() }, constraints).binding
}

/** Throws `OAuthError`. */
export function assertBound(
  { binding }: Pick<Granted, 'binding'>,
  { metadata }: Client,
  { bound }: Pick<TokenTerms, 'bound'>,
  constraints: () => readonly SenderConstraint[],
): void {
  for (const { member, confirmation, error, description } of DEMANDS) {
    if (metadata[member] !== true && !bound.has(member)) continue
    if (binding?.cnf[confirmation] !== undefined) continue
    if (constraints().some((one) => one.confirmation === confirmation))
      throw new OAuthError(error, description)
    throw new OAuthError(
      'unauthorized_client',
      `the access token must be bound (${member}), which is not served here`,
    )
  }
  // By whatever the client can show (FAPI 2.0 Security Profile §5.3.2.1).
  if (metadata['require_bound_access_tokens'] === true && binding === undefined)
    throw new OAuthError(
      'invalid_request',
      'the access token must be bound: the request needs a DPoP proof or a client certificate',
    )
}
