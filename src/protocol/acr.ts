/**
 * The rule of `acr` (OpenID Connect Core §2, §3.1.2.1, §5.5.1.1): which values there are, which satisfies which, and which one tokens
 * tell. What is stronger satisfies what demands less.
 */
import { reachesAcr } from '../../plugins/require-scope/acr.ts'
import type { Bag } from './bag.ts'
import { requestedAcr, type ClaimsRequest } from './claims-request.ts'

/** The weakest first: one factor, two of them or a passkey that verified its user, and the latter. */
export const ACR_VALUES = ['1', '2', 'phr'] as const

/** What a request asks for. */
export interface AskedAcr {
  /** One of these, or the request fails; empty for no demand. */
  readonly demanded: readonly string[]
  /** Wishes, the first is preferred. */
  readonly wished: readonly string[]
}

/** By the parameters of the request: `acr_values`, and `acr` among those of `claims`. */
export function askedAcr(parameters: Bag): AskedAcr {
  const { acr_values: values, claims } = parameters as { acr_values?: string; claims?: ClaimsRequest }
  const claim = claims === undefined ? undefined : requestedAcr(claims)
  const listed = (values ?? '').split(' ').filter((one) => one !== '')
  if (claim?.essential) return { demanded: claim.values, wished: listed }
  return { demanded: [], wished: [...(claim?.values ?? []), ...listed] }
}

/** What tokens say of somebody who has reached `had`: what was asked for where that is reached, else all of it. */
export function toldAcr(parameters: Bag, had: string | null): string | null {
  const { demanded, wished } = askedAcr(parameters)
  return [...demanded, ...wished].find((one) => reachesAcr(had, one)) ?? had
}

/** Of what was shown before and what is shown now; a value without an order is the newer one. */
export function strongerAcr(had: string | null, shown: string | null): string | null {
  return shown === null || reachesAcr(had, shown) ? had : shown
}

/** The weakest first; others, which have no order, behind. */
export function orderedAcr(values: Iterable<string>): string[] {
  const all = new Set(values)
  const known = ACR_VALUES.filter((one) => all.has(one))
  return [...known, ...[...all].filter((one) => !(ACR_VALUES as readonly string[]).includes(one))]
}
