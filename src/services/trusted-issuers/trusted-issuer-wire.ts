/** Trusted issuers for programs, by the names of the wire: what the command line prints, and the interface of the administration answers. */
import type { ListOptions } from '../resource-registry.ts'
import type { TrustedIssuerInformation, TrustedIssuerRegistry } from './trusted-issuer-registry.ts'

/** With what is not registered of it, but noted. */
export interface TrustedIssuerOnWire extends TrustedIssuerInformation {
  /** RFC 3339, a few minutes old; not there before a JWT of it was good. */
  last_used?: string
}

type Read = Pick<TrustedIssuerRegistry, 'find' | 'list' | 'lastUses'>

export async function findOnWire(issuers: Read, issuer: string): Promise<TrustedIssuerOnWire | null> {
  const found = await issuers.find(issuer)
  return found === null ? null : ((await withUses(issuers, [found]))[0] ?? null)
}

export async function listOnWire(issuers: Read, options: ListOptions): Promise<TrustedIssuerOnWire[]> {
  return withUses(issuers, await issuers.list(options))
}

async function withUses(
  issuers: Pick<Read, 'lastUses'>,
  found: readonly TrustedIssuerInformation[],
): Promise<TrustedIssuerOnWire[]> {
  const uses = await issuers.lastUses(found.map(({ issuer }) => issuer))
  return found.map((one) => {
    const used = uses.get(one.issuer)
    return used === undefined ? one : { ...one, last_used: used.toISOString() }
  })
}
