/** The response type `code` (RFC 6749 §4.1.2), with PKCE (RFC 7636): S256 for everybody, required of public clients
 * and of those that are registered so. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Client } from '../../src/doors/client.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { asksFor } from '../../src/protocol/response-type.ts'
import { Type } from '../../src/protocol/schema.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'

async function code(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { authorizationCodes } = kernelOf(fastify)
  oauth.register('responseType', 'code', {
    respond: async (granted, request) => ({ code: await authorizationCodes.create(granted, request) }),
  })
  oauth.add('parameter', {
    name: 'code_challenge',
    schema: Type.String(),
    parse(raw, _client, { code_challenge_method: method }) {
      if (raw === undefined) {
        if (method !== undefined)
          throw new OAuthError('invalid_request', 'code_challenge_method without a code_challenge')
        return undefined
      }
      // RFC 7636 §4.3: without a method it would be `plain`, which protects nothing.
      if (method !== 'S256') throw new OAuthError('invalid_request', 'code_challenge_method must be S256')
      if (!/^[A-Za-z0-9_-]{43}$/.test(raw as string))
        throw new OAuthError('invalid_request', 'code_challenge must be the base64url of a SHA-256')
      return raw
    },
  })
  oauth.add('authorizationCheck', {
    name: 'code_challenge',
    check: ({ client, wire }) => assertProtected(client, wire['response_type'], wire['code_challenge']),
    review: ({ client, responseType, parameters }) =>
      assertProtected(client, responseType, parameters['code_challenge']),
  })
  oauth.extend('metadata', async () => ({ code_challenge_methods_supported: ['S256'] }))
}

/** RFC 9700 §2.1.1: without a secret, the code is all that it takes. */
function assertProtected(client: Client, responseType: unknown, challenge: unknown): void {
  if (!asksFor('code', responseType) || challenge !== undefined) return
  if (client.isPublic()) throw new OAuthError('invalid_request', 'public clients must send a code_challenge')
  if (client.metadata['require_pkce'] === true)
    throw new OAuthError('invalid_request', 'this client must send a code_challenge')
}

export default fp(code, { name: 'latchkey-code', dependencies: ['latchkey-oauth', 'latchkey-authorize'] })
