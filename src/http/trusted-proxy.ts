/** Whether what a request says of its own way here can be believed: it came by a proxy that the operator trusts. */
import type { Socket } from 'node:net'

/** A request of Fastify, or the parts of it that a sender constraint gets. */
export interface ConnectedRequest {
  readonly raw: { readonly socket: Socket }
}

/** Addresses of documentation (RFC 5737): whoever trusts these as well trusts everybody. */
const NOBODY = '192.0.2.1, 192.0.2.2'

/**
 * Of the connection itself, whatever its headers say: whether its other end is one of TRUSTED_PROXIES, or of what an app that embeds the
 * server trusts (`trustProxy`). A `trustProxy` of everybody (`true`) names no proxy: then it is false.
 */
export function isFromTrustedProxy(request: ConnectedRequest): boolean {
  // Fastify says by what it was told, which an app may have written as a function: whether it goes on from this connection to the
  // address that was forwarded by it.
  const raw = { socket: request.raw.socket, headers: { 'x-forwarded-for': NOBODY } }
  const asked = Object.create(request, { raw: { value: raw } }) as { readonly ips?: readonly string[] }
  return asked.ips?.length === 2
}
