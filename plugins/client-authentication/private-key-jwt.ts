/**
 * private_key_jwt (RFC 7523 §2.2, OpenID Connect Core §9): a client proves who it is by a JWT that it signs with a key of its
 * `jwks` or `jwks_uri`. Each is good for one request, at whichever process.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { metadataError } from '../../src/protocol/errors.ts'
import { reason } from '../../src/protocol/message.ts'
import { SIGNATURE_ALGORITHMS } from '../../src/protocol/jwk-set.ts'
import { Type } from '../../src/protocol/schema.ts'
import { createAssertionMethod } from './client-assertions.ts'

const METHOD = 'private_key_jwt'

async function privateKeyJwt(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  oauth.extendClientMetadata(
    Type.Object({}),
    ({ token_endpoint_auth_method: method, jwks, jwks_uri: uri }) => {
      if (method === METHOD && jwks === undefined && uri === undefined)
        throw metadataError(
          'token_endpoint_auth_method',
          reason('{method} needs jwks or jwks_uri', { method: METHOD }),
        )
    },
  )
  const { verify } = oauth.clientKeys
  oauth.register(
    'clientAuthentication',
    METHOD,
    createAssertionMethod(fastify, { method: METHOD, algorithms: SIGNATURE_ALGORITHMS, verify }),
  )
}

export default fp(privateKeyJwt, { name: 'latchkey-private-key-jwt', dependencies: ['latchkey-oauth'] })
