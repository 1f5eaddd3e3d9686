/**
 * Where a name leads, without the threads of the process: names that strangers chose may be slow to resolve, and hashing
 * waits for the same threads as `getaddrinfo`. So /etc/hosts has no say; what is named there is private anyway.
 */
import { Resolver } from 'node:dns/promises'

/** The addresses of a name, IPv4 and IPv6. Throws when it has none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

/** `servers`: addresses with ports, in the place of those of the system. */
export function createResolve(servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: 1500, tries: 2 })
  if (servers !== undefined) resolver.setServers(servers)
  return async (hostname) => {
    const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    const [failed] = found.filter((one) => one.status === 'rejected')
    if (addresses.length === 0) throw failed?.reason ?? new Error(`${hostname} has no address`)
    return addresses
  }
}
