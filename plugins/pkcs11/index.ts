/**
 * Signing keys in hardware, by PKCS #11: an entry of KEYS whose scheme is `pkcs11` (RFC 7512) names the token. Everything else,
 * which key signs and who publishes it, is as with keys of the database.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { openTokenStore } from './store.ts'

async function pkcs11(fastify: FastifyInstance): Promise<void> {
  const { PKCS11_PIN: pin } = kernelOf(fastify).config
  fastify.oauth.register('keyStore', 'pkcs11', {
    open: async (uri, options) => openTokenStore(uri, options, pin),
  })
}

export default fp(pkcs11, { name: 'latchkey-pkcs11', dependencies: ['latchkey-oauth'] })
