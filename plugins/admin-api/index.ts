/**
 * The interface of the administration, at `/admin/api/v1`: what its pages and the command line do, for programs that have a token for it. With
 * `ADMIN_API=off` nothing of it is here.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { Type } from '../../src/protocol/schema.ts'
import { createAccess, PATH, SCOPES } from './access.ts'
import { addAuditEvents } from './audit-events.ts'
import { addClients } from './clients.ts'
import { describeApi } from './description.ts'
import { addHoldings } from './holdings.ts'
import { addKeys } from './keys.ts'
import { createAdminApi, type Operation } from './operations.ts'
import { addRoles } from './roles.ts'
import { addScopesAndResources } from './scopes-and-resources.ts'
import { addTrustedIssuers } from './trusted-issuers.ts'
import { addUsers } from './users.ts'

async function adminApi(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config, seeder } = kernelOf(fastify)
  if (config.ADMIN_API === 'off') return
  const resource = `${oauth.issuer}${PATH}`
  // What is changed or removed of it here stays so.
  seeder.bring('ADMIN_API', {
    resources: [{ resource, name: 'Administration' }],
    scopes: Object.entries(SCOPES).map(([name, { text: description }]) => ({ name, description, resource })),
  })
  const operations: Operation[] = []
  let description: Bag | undefined
  const api = createAdminApi(
    fastify,
    await createAccess(fastify),
    (operation) => void operations.push(operation),
  )
  addUsers(fastify, api)
  addRoles(fastify, api)
  addClients(fastify, api)
  addHoldings(fastify, api)
  addScopesAndResources(fastify, api)
  addTrustedIssuers(fastify, api)
  addKeys(fastify, api)
  addAuditEvents(fastify, api)
  oauth.registerEndpoint({
    path: `${PATH}/openapi.json`,
    method: 'GET',
    caller: 'anybody',
    body: 'json',
    parameters: Type.Object({}),
    // Once all are there; and anybody may ask for it, again and again.
    handle: async () => (description ??= describeApi(oauth.issuer, operations)),
  })
  fastify.decorate('adminApi', api)
  // A command administers by itself.
  fastify.addHook('onListen', async () => {
    fastify.log.info(
      { resource, description: `${resource}/openapi.json` },
      'programs may administer this server (ADMIN_API)',
    )
  })
}

export default fp(adminApi, {
  name: 'latchkey-admin-api',
  dependencies: ['latchkey-oauth'],
})
