/**
 * The device authorization grant (RFC 8628): an endpoint where devices ask, a page where people enter the code that a device
 * shows, and the grant by which the device gets its tokens.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { addEndpoint } from './endpoint.ts'
import { addGrant } from './grant.ts'
import { addPages } from './pages.ts'
import { addPicture } from './picture.ts'
import { createDeviceRequests } from './requests.ts'

async function deviceCode(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const requests = createDeviceRequests(oauth, kernelOf(fastify))
  addEndpoint(oauth, requests)
  addGrant(fastify, requests)
  addPicture(fastify)
  await addPages(fastify, requests)
}

export default fp(deviceCode, {
  name: 'latchkey-device-code',
  dependencies: ['latchkey-token', 'latchkey-interaction', 'latchkey-pages', 'latchkey-browser'],
})
