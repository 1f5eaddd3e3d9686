/** What a finished interaction has established. */
import type { Parameter } from '../../src/doors/approval.ts'
import type { Granted } from '../../src/doors/facts.ts'
import type { Interaction, StepFacts } from '../../src/doors/interaction.ts'
import { toldAcr } from '../../src/protocol/acr.ts'

export function grantedBy(
  { request, session }: Pick<Interaction, 'request' | 'session'>,
  parameters: readonly Parameter[],
): Granted {
  if (session === null) throw new Error('an interaction ended without anybody signed in')
  const kept = parameters.filter(
    ({ name, kept = false }) => kept !== false && request.parameters[name] !== undefined,
  )
  const { userId, sid, amr, authenticatedAt } = session
  const acr = toldAcr(request.parameters, session.acr)
  return {
    subject: userId,
    scopes: request.scopes,
    resources: request.resources,
    parameters: Object.fromEntries(
      kept.map(({ name, kept: as }) => [as === true ? name : as, request.parameters[name]]),
    ),
    authentication: { time: authenticatedAt, amr, sid, ...(acr === null ? {} : { acr }) },
  }
}

/**
 * With what a step has found out, laid over what was known. None takes back what another vouches for: who acts now does so for who acted
 * before (RFC 8693 §4.1), and what is granted for several things ends with each of them.
 */
export function withFacts<Known extends StepFacts['granted']>(
  known: Known,
  found: StepFacts['granted'],
): Known {
  const parameters = { ...known.parameters, ...found.parameters }
  // Each says how long it vouches for: what comes after it does not make that longer.
  const notAfter = Math.min(known.notAfter ?? Infinity, found.notAfter ?? Infinity)
  const actor = behind('act', found.actor, known.actor)
  const parent = behind('parent', found.parent, known.parent)
  return {
    ...known,
    ...found,
    ...(actor && { actor }),
    ...(parent && { parent }),
    ...(notAfter === Infinity ? {} : { notAfter }),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
  }
}

/** The newest, with the earlier one at the end of its line. */
function behind<Name extends string, Link extends { readonly [Next in Name]?: Link }>(
  name: Name,
  newest: Link | undefined,
  earlier: Link | undefined,
): Link | undefined {
  if (newest === undefined || earlier === undefined) return newest ?? earlier
  return { ...newest, [name]: behind(name, newest[name], earlier) }
}
