/** Whom an IP address stands for when requests are counted: one IPv4 address, or the /64 that one IPv6 user has. */
import { isIPv4, isIPv6 } from 'node:net'

/**
 * The network of `address` (`request.ip`), for what is counted of somebody nobody knows: an IPv4 address itself, the /64 of an IPv6
 * one, in which one host has as many as it likes (RFC 4291 §2.5.1). It may carry a port or a zone as some proxies send it. What is no
 * IP address is taken as it is, so that it counts at least as itself.
 */
export function networkOf(address: string): string {
  const parsed = parse(address)
  return typeof parsed === 'string' ? parsed : `${hexadecimal(parsed.slice(0, 4))}::/64`
}

/**
 * The addresses that one party may have at hand: the /24 of an IPv4 address, the /56 of an IPv6 one, which is what a home
 * gets (RIPE-690 §4.2). What is no IP address is taken as it is.
 */
export function neighbourhoodOf(address: string): string {
  const parsed = parse(address)
  if (typeof parsed !== 'string') {
    const [first = 0, second = 0, third = 0, fourth = 0] = parsed
    return `${hexadecimal([first, second, third, fourth & 0xff00])}::/56`
  }
  return isIPv4(parsed) ? parsed.replace(/\d+$/, '0/24') : parsed
}

/** The eight groups of an IPv6 address; an IPv4 address as a text, and so whatever is none. */
function parse(address: string): number[] | string {
  if (!address.includes(':')) return address
  const [bare = ''] = withoutPort(address).split('%')
  if (!isIPv6(bare)) return bare
  const groups = expand(bare)
  const [high = 0, low = 0] = groups.slice(6)
  // ::ffff:192.0.2.1 is how a dual-stack socket names an IPv4 peer (RFC 4291 §2.5.5.2).
  return groups.slice(0, 6).join(':') === '0:0:0:0:0:65535'
    ? [high >> 8, high & 255, low >> 8, low & 255].join('.')
    : groups
}

const hexadecimal = (groups: readonly number[]): string => groups.map((group) => group.toString(16)).join(':')

function withoutPort(address: string): string {
  const bracketed = /^\[(.*)\](?::\d+)?$/.exec(address)?.[1]
  if (bracketed !== undefined) return bracketed
  const [host = '', port] = address.split(':')
  return port !== undefined && isIPv4(host) ? host : address
}

/** The eight groups of an IPv6 address; a URL writes every notation of it in the same way (RFC 5952). */
function expand(address: string): number[] {
  const [before = '', after] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const head = before.split(':').filter((group) => group !== '')
  const tail = (after ?? '').split(':').filter((group) => group !== '')
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16))
}
