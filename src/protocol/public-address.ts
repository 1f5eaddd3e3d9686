/**
 * Which IP addresses are of the public internet: all that the registries give to hosts there, and none that means this
 * machine, this network, its cloud, or another address in disguise (RFC 6890, RFC 4193, RFC 6598, RFC 6052).
 */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** RFC 4291 §2.4: nothing outside it is given to hosts. */
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::')
/** Of the public internet by every registry, and the host's own inside of Azure: what machines there get their secrets from. */
const OF_A_CLOUD = new Set(['168.63.129.16'])

/** False also for what is no address. */
export function isPublicAddress(address: string): boolean {
  // Its own parser also reads what others take for a name, such as 1.2.3.
  if (isIP(address) === 0 || OF_A_CLOUD.has(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  return !(parsed instanceof ipaddr.IPv6) || parsed.match(GLOBAL_UNICAST, 3)
}

/** Kept for machines and networks of one's own (RFC 6761 §6, RFC 6762 §3, RFC 8375, RFC 7686, and what ICANN keeps for them). */
const AT_HOME = /(?:^|\.)(?:localhost|local|internal|invalid|onion|home\.arpa)\.*$/i

/** Whether the name may be one of the public internet: it has a dot, and is none of those. Where it leads, it does not tell. */
export function isPublicName(hostname: string): boolean {
  return /[^.]\.[^.]/.test(hostname) && !AT_HOME.test(hostname)
}
