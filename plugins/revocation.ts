/**
 * Token revocation (RFC 7009): a client gives a token back. An access token ends alone; a refresh token takes its
 * Authorization along, and with it all that was issued under it (§2.1).
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Client } from '../src/doors/client.ts'
import { OAuthError } from '../src/protocol/errors.ts'
import { Type } from '../src/protocol/schema.ts'
import { kernelOf } from '../src/http/kernel-of.ts'

async function revocation(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { refreshTokens } = kernelOf(fastify)
  oauth.registerEndpoint({
    path: '/revoke',
    metadata: 'revocation_endpoint',
    publicClients: true,
    cors: true,
    parameters: Type.Object({ token: Type.String() }),
    async handle({ token }, { client }) {
      const refreshed = await refreshTokens.find(token)
      if (refreshed !== null) {
        assertOwn(refreshed.authorization.clientId, client)
        await oauth.revoke(refreshed.authorization.id!, 'its refresh token was revoked')
        return {}
      }
      const claims = await oauth.readToken(token)
      // A token that is not ours, or dead already, is revoked by itself (RFC 7009 §2.2).
      if (claims === null) return {}
      assertOwn(claims['client_id'], client)
      await oauth.revokeToken(token)
      return {}
    },
  })
}

function assertOwn(clientId: unknown, client: Client): void {
  if (clientId !== client.clientId)
    throw new OAuthError('invalid_grant', 'the token was issued to another client')
}

export default fp(revocation, { name: 'latchkey-revocation', dependencies: ['latchkey-oauth'] })
