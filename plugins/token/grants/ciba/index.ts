/**
 * OpenID Connect Client-Initiated Backchannel Authentication (CIBA Core 1.0), poll and ping: an endpoint where clients ask for somebody's
 * approval without a browser, the ways in which that person hears of it, a page where they decide, and the grant by which the client gets
 * its tokens. Push is not served: tokens are given to who asks for them, and proves who they are. Off unless OIDC_CIBA says otherwise.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../../../../src/config.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { addAccountPages } from './account.ts'
import { createDevices } from './devices.ts'
import { addEndpoint } from './endpoint.ts'
import { addGrant } from './grant.ts'
import { createHints } from './hints.ts'
import { addLetter } from './letter.ts'
import { addMetadata } from './metadata.ts'
import { addPages } from './pages.ts'
import { addPing } from './ping.ts'
import { createBackchannelRequests } from './requests.ts'
import { createSignedRequests } from './signed-requests.ts'
import { createUserCodes } from './user-codes.ts'

async function ciba(fastify: FastifyInstance): Promise<void> {
  addMetadata(fastify)
  if (!kernelOf(fastify).config.OIDC_CIBA) return
  // Else a link that is opened would be an approval.
  if (!fastify.hasPlugin('latchkey-consent'))
    throw new ConfigError('OIDC_CIBA needs the plugin latchkey-consent, which is left out.')
  const requests = createBackchannelRequests(fastify)
  addPing(fastify, requests)
  addLetter(fastify)
  const userCodes = createUserCodes(fastify)
  addEndpoint(fastify, {
    requests,
    userCodes,
    findHinted: createHints(fastify),
    openSigned: createSignedRequests(fastify),
    devices: createDevices(fastify),
  })
  addGrant(fastify, requests)
  await addPages(fastify, requests)
  if (fastify.hasDecorator('account')) await addAccountPages(fastify, requests, userCodes)
}

export default fp(ciba, {
  name: 'latchkey-ciba',
  dependencies: [
    'latchkey-token',
    'latchkey-openid',
    'latchkey-interaction',
    'latchkey-pages',
    'latchkey-browser',
  ],
})
