/** What an upstream says of somebody, by our names, and what of it is believed. */
import { isMailAddress } from '../../src/protocol/mail-address.ts'
import { misfitOf } from '../../src/protocol/schema.ts'
import { isStorable } from '../../src/protocol/json.ts'
import { fittingClaims, StandardClaims, YES } from '../../src/protocol/claims.ts'
import { domainOf } from '../../src/protocol/upstream-information.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import { asTyped } from '../pages/profile-fields.ts'

type Claims = Readonly<Record<string, unknown>>

/**
 * Of our record, and not of theirs; and a number is verified by who took steps to verify it (OpenID Connect Core §5.1), which no setting says
 * of an upstream.
 */
const NEVER_TAKEN = ['updated_at', 'phone_number_verified']

/**
 * The standard claims that it has, in their types, as people could have typed them into their profile here: apps rely on that, and show links
 * and pictures. What does not fit is left out.
 */
export function mappedClaims({ claims: names = {} }: UpstreamInformation, said: Claims): Claims {
  const entries = Object.entries(StandardClaims.properties).flatMap(([name, schema]) => {
    if (NEVER_TAKEN.includes(name)) return []
    const source = names[name] ?? name
    const value = Object.hasOwn(said, source) ? said[source] : undefined
    if (value === undefined || value === null || value === '') return []
    const told = inOurForm(name, value)
    return misfitOf(schema, told) === undefined && isStorable(told) ? [[name, told] as const] : []
  })
  return fittingClaims(asTyped(Object.fromEntries(entries)))
}

function inOurForm(name: string, value: unknown): unknown {
  if (name === 'email_verified') return YES.includes(value)
  // §5.1: some write `en_US`.
  return name === 'locale' && typeof value === 'string' ? value.replaceAll('_', '-') : value
}

/** The address that is theirs without a doubt: verified there, of a domain that the upstream speaks for. Null for none. */
export function believedEmail(upstream: UpstreamInformation, claims: Claims): string | null {
  const { email, email_verified: verified } = claims
  if (upstream.trust_email !== true || verified !== true || typeof email !== 'string') return null
  if (!isMailAddress(email)) return null
  return isOfDomains(upstream, email) ? email : null
}

export function isOfDomains({ domains = [] }: UpstreamInformation, address: string): boolean {
  return domains.includes(domainOf(address))
}
