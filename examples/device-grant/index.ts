/**
 * The device authorization grant (RFC 8628) for Latchkey: an endpoint where devices ask, a page where people enter the
 * code that a device shows, and the grant by which the device gets its tokens.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { addEndpoint } from './endpoint.ts'
import { addGrant } from './grant.ts'
import { addWords } from './languages.ts'
import { addPages } from './pages.ts'
import { createDeviceRequests } from './requests.ts'

async function deviceGrant(fastify: FastifyInstance): Promise<void> {
  const requests = createDeviceRequests(fastify.oauth)
  addEndpoint(fastify.oauth, requests)
  addGrant(fastify.oauth, requests)
  addWords(fastify.oauth)
  await addPages(fastify, requests)
}

export default fp(deviceGrant, {
  name: 'device-grant',
  dependencies: ['latchkey-interaction', 'latchkey-login', 'latchkey-consent', 'latchkey-token'],
})
