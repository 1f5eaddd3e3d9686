// How and how lately the person behind a token must have signed in (RFC 9470): what a route demands, and what its challenge says.
import type { AccessToken } from './access-token.ts'
import { reachesAcr } from './acr.ts'
import { BearerError } from './bearer-error.ts'
import { CLOCK_SKEW } from './claims.ts'

/** What a route demands of the sign-in behind a token, beside its scopes. */
export interface AuthenticationDemand {
  /** `acr`: one of these, or what is stronger, where the values have the order `1` < `2` < `phr` < `phrh`. */
  acr?: string | readonly string[] | undefined
  /** Seconds since the sign-in, at most; 1 or more. */
  maxAge?: number | undefined
}

/** As a guard has it. */
export interface Demand {
  readonly acr: readonly string[] | undefined
  readonly maxAge: number | undefined
}

export const INSUFFICIENT = 'insufficient_user_authentication'
const VALUE = /^[\x21\x23-\x5B\x5D-\x7E]+$/

/** @throws {TypeError} for a demand that cannot be meant */
export function readDemand(demand: AuthenticationDemand = {}): Demand {
  if (typeof demand !== 'object' || demand === null || Array.isArray(demand))
    throw new TypeError('requireScope: authentication must be an object')
  const unknown = Object.keys(demand).find((name) => name !== 'acr' && name !== 'maxAge')
  if (unknown !== undefined) throw new TypeError(`requireScope: there is no demand ${unknown}`)
  const { acr, maxAge } = demand
  const values = acr === undefined ? undefined : [acr].flat()
  if (values?.length === 0 || values?.some((one) => typeof one !== 'string' || !VALUE.test(one)))
    throw new TypeError('requireScope: acr must be a value without spaces, or a list of them')
  if (maxAge !== undefined && !(Number.isInteger(maxAge) && maxAge >= 1))
    throw new TypeError('requireScope: maxAge must be a whole number of seconds, at least 1')
  return { acr: values, maxAge }
}

/**
 * @param now milliseconds since 1970
 * @throws {BearerError} `insufficient_user_authentication` (RFC 9470 §3)
 */
export function assertAuthenticated({ claims }: AccessToken, { acr, maxAge }: Demand, now: number): void {
  if (acr !== undefined && !acr.some((one) => reachesAcr(claims['acr'], one)))
    throw new BearerError(INSUFFICIENT, 'A stronger sign-in is needed')
  if (maxAge !== undefined && !isWithin(claims['auth_time'], maxAge, now))
    throw new BearerError(INSUFFICIENT, 'A more recent sign-in is needed')
}

/** What is said to be from the future says nothing of how long ago it was. */
function isWithin(time: unknown, maxAge: number, now: number): boolean {
  if (typeof time !== 'number') return false
  const age = now - time * 1000
  return age <= maxAge * 1000 && age >= -CLOCK_SKEW
}

/** What the client asks the authorization server for. */
export function challengeOf({ acr, maxAge }: Demand): { acr_values?: string; max_age?: string } {
  return {
    ...(acr === undefined ? {} : { acr_values: acr.join(' ') }),
    ...(maxAge === undefined ? {} : { max_age: String(maxAge) }),
  }
}
