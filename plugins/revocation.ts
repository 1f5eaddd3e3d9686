/** Token revocation (RFC 7009): a client gives a token back. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Type } from 'typebox'
import { OAuthError } from '../src/protocol/errors.ts'

async function revocation({ oauth }: FastifyInstance): Promise<void> {
  oauth.registerEndpoint({
    path: '/revoke',
    metadata: 'revocation_endpoint',
    publicClients: true,
    cors: true,
    parameters: Type.Object({ token: Type.String() }),
    async handle({ token }, { client }) {
      const claims = await oauth.readToken(token)
      // A token that is not ours, or dead already, is revoked by itself (RFC 7009 §2.2).
      if (claims === null) return {}
      if (claims['client_id'] !== client.clientId) {
        throw new OAuthError('invalid_grant', 'the token was issued to another client')
      }
      await oauth.revokeToken(token)
      return {}
    },
  })
  oauth.extend('metadata', async () => ({
    revocation_endpoint_auth_methods_supported: [...oauth.owners('clientAuthentication').keys()],
  }))
}

export default fp(revocation, { name: 'latchkey-revocation', dependencies: ['latchkey-oauth'] })
