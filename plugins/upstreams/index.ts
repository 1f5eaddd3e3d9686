/**
 * Sign-in by others: providers that are registered here as upstreams. A button each on the sign-in page, what is linked with an
 * account, and their administration. Who somebody is, is said by `speaking.ts`; whose account that is, by `accounts.ts`.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { createAccounts } from './accounts.ts'
import { addAdminUpstreams } from './admin-upstreams.ts'
import { addAdminLinks } from './admin-links.ts'
import { addCallback } from './callback.ts'
import { createFlows } from './flows.ts'
import { addLinkOperations } from './link-operations.ts'
import { addLinkedSignIns } from './linked-sign-ins.ts'
import { createLinks, type LinkedSignIns } from './links.ts'
import { addNewcomers } from './newcomers.ts'
import { addSignIn } from './sign-in.ts'
import { addSignOut } from './sign-out.ts'
import { createProvider } from './speaking.ts'
import { addUpstreamOperations } from './upstream-operations.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Not there where the plugin `latchkey-upstreams` is left out. */
    linkedSignIns: LinkedSignIns
  }
}

async function upstreams(fastify: FastifyInstance): Promise<void> {
  const links = createLinks(fastify)
  fastify.decorate('linkedSignIns', {
    ownerOf: links.ownerOf,
    list: links.list,
    unlink: links.unlink,
  })
  const provider = createProvider(fastify)
  const accounts = createAccounts(fastify, links)
  const signOuts = addSignOut(fastify, provider)
  const newcomers = await addNewcomers(fastify, { accounts, signOuts })
  const options = { links, flows: createFlows(fastify), provider, accounts, newcomers, signOuts }
  await addSignIn(fastify, options)
  addCallback(fastify, options)
  if (fastify.hasDecorator('account')) await addLinkedSignIns(fastify, options)
  if (fastify.hasDecorator('admin')) {
    addAdminUpstreams(fastify)
    await addAdminLinks(fastify, links)
  }
  if (fastify.hasDecorator('adminApi')) {
    addUpstreamOperations(fastify)
    addLinkOperations(fastify.adminApi, links)
  }
  // Read before anybody waits for a page.
  fastify.addHook('onReady', async () => {
    await kernelOf(fastify).upstreams.all()
  })
}

export default fp(upstreams, {
  name: 'latchkey-upstreams',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-pages'],
})
