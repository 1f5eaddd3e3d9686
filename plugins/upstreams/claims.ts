/** What an upstream says of somebody, by our names, and what of it is believed. */
import { isMailAddress } from '../../src/protocol/mail-address.ts'
import { misfitOf } from '../../src/protocol/schema.ts'
import { isStorable } from '../../src/protocol/json.ts'
import { StandardClaims, YES } from '../../src/protocol/claims.ts'
import { domainOf } from '../../src/protocol/upstream-information.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'

type Claims = Readonly<Record<string, unknown>>

/** The standard claims that it has in their types; what does not fit is left out. */
export function mappedClaims({ claims: names = {} }: UpstreamInformation, said: Claims): Claims {
  const entries = Object.entries(StandardClaims.properties).flatMap(([name, schema]) => {
    // Of our record, and not of theirs.
    if (name === 'updated_at') return []
    const source = names[name] ?? name
    const value = Object.hasOwn(said, source) ? said[source] : undefined
    const told = name.endsWith('_verified') ? YES.includes(value) : value
    if (value === undefined || value === null || value === '') return []
    return misfitOf(schema, told) === undefined && isStorable(told) ? [[name, told] as const] : []
  })
  return Object.fromEntries(entries)
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
