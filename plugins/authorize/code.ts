/** The response type `code` (RFC 6749 §4.1.2), with PKCE (RFC 7636): S256 for everybody, required of public clients. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { OAuthError } from '../../src/protocol/errors.ts'
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
    parse(raw, client, { code_challenge_method: method, response_type: responseType }) {
      if (raw === undefined) {
        if (method !== undefined)
          throw new OAuthError('invalid_request', 'code_challenge_method without a code_challenge')
        // A request at another endpoint gets no code to protect.
        const asksForCode = typeof responseType === 'string' && responseType.split(' ').includes('code')
        if (client.isPublic() && asksForCode)
          throw new OAuthError('invalid_request', 'public clients must send a code_challenge')
        return undefined
      }
      // RFC 7636 §4.3: without a method it would be `plain`, which protects nothing.
      if (method !== 'S256') throw new OAuthError('invalid_request', 'code_challenge_method must be S256')
      if (!/^[A-Za-z0-9_-]{43}$/.test(raw as string))
        throw new OAuthError('invalid_request', 'code_challenge must be the base64url of a SHA-256')
      return raw
    },
  })
  oauth.extend('metadata', async () => ({ code_challenge_methods_supported: ['S256'] }))
}

export default fp(code, { name: 'latchkey-code', dependencies: ['latchkey-oauth', 'latchkey-authorize'] })
