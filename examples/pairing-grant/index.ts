/**
 * Pairing codes for Latchkey: people allow an app at an address, are shown a code, and type it into the app, which gets its tokens
 * for it. It is for what has a keyboard and neither a browser nor a screen of its own: the other way round than RFC 8628.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { createPairings } from './codes.ts'
import { addGrant } from './grant.ts'
import { addWords } from './languages.ts'
import { addPages } from './pages.ts'

async function pairingGrant(fastify: FastifyInstance): Promise<void> {
  const pairings = createPairings(fastify.oauth)
  addGrant(fastify.oauth, pairings)
  addWords(fastify.oauth)
  await addPages(fastify, pairings)
}

export default fp(pairingGrant, {
  name: 'pairing-grant',
  dependencies: ['latchkey-interaction', 'latchkey-login', 'latchkey-consent', 'latchkey-token'],
})
