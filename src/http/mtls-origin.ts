/**
 * The origin at which TLS asks clients for a certificate: that of `mtls_endpoint_aliases` (RFC 8705 §5). What clients sign names the address that
 * they call, so that whoever looks at it must know this one beside the issuer's.
 */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from './kernel-of.ts'

/** Where it is not said, the port of MTLS_PORT at the issuer's host. Undefined: nowhere. */
export function mtlsOriginOf(fastify: FastifyInstance): string | undefined {
  const { OIDC_MTLS_ORIGIN: origin, MTLS_PORT: port } = kernelOf(fastify).config
  if (origin !== undefined || port === undefined) return origin
  return new URL(`https://${new URL(fastify.oauth.issuer).hostname}:${port}`).origin
}
