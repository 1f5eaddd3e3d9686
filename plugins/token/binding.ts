/**
 * Binds what is issued to the key that its request shows: asks every sender constraint, and refuses a public client that goes
 * on from what is bound to another key. A client that proves who it is may change keys (RFC 9449 §5).
 */
import { isDeepStrictEqual } from 'node:util'
import type { Call } from '../../src/doors/back-channel.ts'
import type { Client } from '../../src/doors/client.ts'
import type { Granted } from '../../src/doors/facts.ts'
import type { SenderConstraint } from '../../src/doors/sender-constraint.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { Binding } from '../../src/protocol/facts.ts'
import { BearerError } from '../require-scope/bearer-error.ts'
import { schemeOfAll } from '../require-scope/schemes.ts'

/** What the request shows that it holds; undefined for nothing. */
export async function bindingOf(
  constraints: readonly SenderConstraint[],
  call: Call,
): Promise<Binding | undefined> {
  const cnf: Record<string, string> = {}
  const bound: SenderConstraint[] = []
  for (const constraint of constraints) {
    const confirmation = await shownBy(constraint, call)
    if (confirmation === undefined) continue
    cnf[constraint.confirmation] = confirmation
    bound.push(constraint)
  }
  if (bound.length === 0) return undefined
  const tokenType = schemeOfAll(bound)
  if (tokenType === undefined)
    throw new OAuthError('invalid_request', 'the proofs are of ways that do not go together')
  return { tokenType, cnf }
}

/** What a grant has established, bound to what the request shows and to nothing else. Throws `invalid_grant`. */
export function boundTo(granted: Granted, binding: Binding | undefined, client: Client): Granted {
  if (granted.binding === undefined && binding === undefined) return granted
  const { binding: before, ...facts } = granted
  if (before !== undefined && client.isPublic() && !holds(binding, before))
    throw new OAuthError('invalid_grant', 'it is bound to a key that the request does not show')
  return binding === undefined ? facts : { ...facts, binding }
}

function holds(binding: Binding | undefined, { cnf }: Binding): boolean {
  return Object.entries(cnf).every(([name, value]) => isDeepStrictEqual(binding?.cnf[name], value))
}

/** What a constraint refuses at a guarded route and here in the same words. */
async function shownBy(constraint: SenderConstraint, call: Call): Promise<string | undefined> {
  try {
    return await constraint.bind(call)
  } catch (error) {
    if (!(error instanceof BearerError)) throw error
    const { error: code = 'invalid_request', message, headers, cause } = error
    throw new OAuthError(code, message, { status: 400, headers, cause })
  }
}
