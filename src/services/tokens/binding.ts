/**
 * Binds what is issued to the key that its request shows: asks every sender constraint, and refuses a code whose request named
 * another key, and a public client that goes on from what is bound to another one. A client that proves who it is may change
 * keys (RFC 9449 §5).
 */
import { isDeepStrictEqual } from 'node:util'
import { BearerError } from '../../../plugins/require-scope/bearer-error.ts'
import { schemeOfAll } from '../../../plugins/require-scope/schemes.ts'
import type { Call } from '../../doors/back-channel.ts'
import type { Client } from '../../doors/client.ts'
import type { Granted } from '../../doors/facts.ts'
import type { SenderConstraint } from '../../doors/sender-constraint.ts'
import type { Bag } from '../../protocol/bag.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Binding } from '../../protocol/facts.ts'
import type { Wire } from '../../protocol/wire.ts'

/** What the request shows that it holds; undefined for nothing. */
export async function bindingOf(
  constraints: readonly SenderConstraint[],
  call: Call,
): Promise<Binding | undefined> {
  let cnf: Record<string, string> | undefined
  const bound: SenderConstraint[] = []
  for (const constraint of constraints) {
    const shown = shownBy(constraint, call)
    const confirmation = shown instanceof Promise ? await shown : shown
    if (confirmation === undefined) continue
    cnf = { ...cnf, [constraint.confirmation]: confirmation }
    bound.push(constraint)
  }
  if (cnf === undefined) return undefined
  const tokenType = schemeOfAll(bound)
  if (tokenType === undefined)
    throw new OAuthError(
      'invalid_request',
      'the request shows proofs of two schemes, such as DPoP and another: send one',
    )
  return { tokenType, cnf }
}

/**
 * Parameters of an authorization request that follow from what the client shows as it sends it by itself (RFC 9449 §10.1): as
 * if it had sent them.
 */
export async function parametersShownBy(constraints: readonly SenderConstraint[], call: Call): Promise<Wire> {
  const shown: Record<string, string> = {}
  for (const constraint of constraints) {
    if (constraint.requestParameter === undefined) continue
    const confirmation = await shownBy(constraint, call)
    if (confirmation !== undefined) shown[constraint.requestParameter] = confirmation
  }
  return shown
}

/** Throws `invalid_grant` for what was asked for in the name of a key that the request does not show (RFC 9449 §10). */
export function assertAskedKey(
  { parameters = {}, continues }: Granted,
  binding: Binding | undefined,
  constraints: readonly SenderConstraint[],
): void {
  if (continues !== undefined) return
  for (const { requestParameter: name, confirmation } of constraints)
    if (
      name !== undefined &&
      parameters[name] !== undefined &&
      parameters[name] !== binding?.cnf[confirmation]
    )
      throw new OAuthError('invalid_grant', 'it was asked for with a key that the request does not show')
}

/** What a grant has established, bound to what the request shows and to nothing else. Throws `invalid_grant`. */
export function boundTo(granted: Granted, binding: Binding | undefined, client: Client): Granted {
  if (granted.binding === undefined && binding === undefined) return granted
  const { binding: before, ...facts } = granted
  if (before !== undefined && client.isPublic() && !holds(binding, before))
    throw new OAuthError('invalid_grant', 'it is bound to a key that the request does not show')
  return binding === undefined ? facts : { ...facts, binding }
}

/** Whether a request that shows `binding` holds all that a `cnf` names (RFC 7800 §3); a member that nobody shows is not held. */
export function holds(binding: Binding | undefined, { cnf }: { readonly cnf: Bag }): boolean {
  return Object.entries(cnf).every(([name, value]) => isDeepStrictEqual(binding?.cnf[name], value))
}

/** What a constraint refuses at a guarded route and here in the same words. One that answers at once is not waited for. */
function shownBy(constraint: SenderConstraint, call: Call): string | undefined | Promise<string | undefined> {
  try {
    const shown = constraint.bind(call)
    return shown instanceof Promise ? shown.catch(refuse) : shown
  } catch (error) {
    return refuse(error)
  }
}

function refuse(error: unknown): never {
  if (!(error instanceof BearerError)) throw error
  const { error: code = 'invalid_request', message, headers, cause } = error
  throw new OAuthError(code, message, { status: 400, headers, cause })
}
