/** The public keys (RFC 7517), from memory: they are there when the database is not. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { JWKS_LIFETIME } from '../src/services/keys/key-ring.ts'
import { withSlash } from '../src/http/methods.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import { servePublicDocument } from '../src/http/public-document.ts'

async function jwks(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  servePublicDocument(fastify, {
    urls: withSlash(fastify, '/jwks'),
    type: 'application/jwk-set+json',
    maxAge: JWKS_LIFETIME,
    read: kernelOf(fastify).keys.jwks,
  })
  oauth.extend('metadata', async () => ({ jwks_uri: `${oauth.issuer}/jwks` }))
}

export default fp(jwks, { name: 'latchkey-jwks', dependencies: ['latchkey-oauth'], encapsulate: true })
