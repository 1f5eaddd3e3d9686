/**
 * Finds out which client a request comes from: one registered method must recognize the request, and must prove it.
 * A wrong secret, an unknown client and a method that the client may not use are one answer, in one time.
 */
import type { FastifyRequest } from 'fastify'
import type { Client } from '../doors.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { Wire } from '../protocol/wire.ts'
import type { Directory } from './directory.ts'
import type { DoorRegistry } from './door-registry.ts'

export interface ClientAuthenticator {
  /**
   * The client, proven; a public one only where `publicClients` allows it. Throws `invalid_client` (401, with a
   * challenge) and `invalid_request` for two methods at once (RFC 6749 §2.3).
   */
  authenticate(request: FastifyRequest, wire: Wire, publicClients: boolean): Promise<Client>
}

/** Methods that serve a client which did not register one (RFC 7591 §2 would make it Basic alone). */
const WHEN_UNSET = new Set(['client_secret_basic', 'client_secret_post'])

export function createClientAuthenticator(
  doors: DoorRegistry,
  directory: Directory,
  issuer: string,
): ClientAuthenticator {
  const refuse = (): OAuthError =>
    new OAuthError('invalid_client', 'client authentication failed', {
      headers: { 'www-authenticate': `Basic realm="${issuer}", charset="UTF-8"` },
    })
  const mayUse = ({ authenticationMethod }: Client, method: string): boolean =>
    authenticationMethod === undefined ? WHEN_UNSET.has(method) : authenticationMethod === method

  return {
    async authenticate(request, wire, publicClients) {
      const used = [...doors.owners('clientAuthentication')].flatMap(([method, owner]) => {
        const claims = owner.recognizes(request, wire)
        return claims === null ? [] : [{ method, owner, claims }]
      })
      if (used.length > 1)
        throw new OAuthError('invalid_request', 'the client authenticates in two ways at once')
      const [presented] = used
      if (presented === undefined) throw refuse()
      const { method, owner, claims } = presented
      let proven: Client | undefined
      for (const claimed of claims) {
        const client = await directory.findClient(claimed)
        const proves = await owner.authenticate(request, wire, client, claimed)
        if (proves && client !== null && mayUse(client, method)) proven ??= client
      }
      if (proven === undefined || (proven.isPublic() && !publicClients)) throw refuse()
      return proven
    },
  }
}
