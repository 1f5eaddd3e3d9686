/** The public keys (RFC 7517), from memory: they are there when the database is not. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { allowBrowsers } from './cors.ts'
import { refuseOtherMethods, withSlash } from './endpoint.ts'
import { sendError } from './errors.ts'

/** Others may keep the document this long; a new key is published for longer before it signs. Seconds. */
const MAX_AGE = 30

async function jwks(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  fastify.setErrorHandler(sendError)
  allowBrowsers(fastify)
  for (const url of withSlash(fastify, '/jwks')) {
    fastify.get(url, async (_request, reply) =>
      reply
        .headers({
          'content-type': 'application/jwk-set+json',
          'cache-control': `public, max-age=${MAX_AGE}`,
        })
        .send(oauth.keys.jwks()),
    )
    refuseOtherMethods(fastify, url, ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'GET, HEAD')
  }
  oauth.extend('metadata', async () => ({ jwks_uri: `${oauth.issuer}/jwks` }))
}

export default fp(jwks, { name: 'latchkey-jwks', dependencies: ['latchkey-oauth'], encapsulate: true })
