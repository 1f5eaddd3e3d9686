/** The public keys (RFC 7517), from memory: they are there when the database is not. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { withSlash } from './endpoint.ts'
import { servePublicDocument } from './public-document.ts'

/** Others may keep the document this long; a new key is published for longer before it signs. Seconds. */
const MAX_AGE = 30

async function jwks(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  servePublicDocument(fastify, {
    urls: withSlash(fastify, '/jwks'),
    type: 'application/jwk-set+json',
    maxAge: MAX_AGE,
    read: oauth.keys.jwks,
  })
  oauth.extend('metadata', async () => ({ jwks_uri: `${oauth.issuer}/jwks` }))
}

export default fp(jwks, { name: 'latchkey-jwks', dependencies: ['latchkey-oauth'], encapsulate: true })
