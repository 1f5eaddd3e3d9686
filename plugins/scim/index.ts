/**
 * SCIM 2.0 (RFC 7643, RFC 7644), at `/scim/v2`: a directory elsewhere, such as Microsoft Entra ID or Okta, registers, changes and ends the people who
 * sign in here. With `SCIM=off` nothing of it is here.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { keepHouseRules, scopeOptions } from '../../src/http/house-rules.ts'
import { createProgramAccess } from '../programs/access.ts'
import { addAdministration } from './administration.ts'
import { bulkOperation } from './bulk.ts'
import { describeScim } from './description.ts'
import { FAILURES } from './errors.ts'
import { createScimGroups } from './groups.ts'
import { PATH } from './messages.ts'
import { operationsOfMe } from './me.ts'
import { listOfAll, searchOperation } from './searches.ts'
import { IMPLIED, SCOPES, serveScim } from './serving.ts'
import { createScimUsers } from './users.ts'

async function scim(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config, seeder } = kernelOf(fastify)
  if (config.SCIM === 'off') return
  const resource = `${oauth.issuer}${PATH}`
  // What is changed or removed of it here stays so.
  seeder.bring('SCIM', {
    resources: [{ resource, name: 'Users, for directories' }],
    scopes: Object.entries(SCOPES).map(([name, { text: description }]) => ({ name, description, resource })),
  })
  const access = await createProgramAccess(fastify, { path: PATH, implies: IMPLIED })
  const [users, groups] = [createScimUsers(fastify), createScimGroups(fastify)]
  const kinds = [users, groups]
  const everywhere = searchOperation('/.search', listOfAll(kinds.map(({ list }) => list)))
  const me = operationsOfMe(users.operations, resource, access)
  const own = kinds.flatMap(({ operations }) => operations)
  for (const operation of [...own, ...me, bulkOperation(own, resource), everywhere])
    serveScim(fastify, access, operation)
  describeScim(fastify)
  if (fastify.hasDecorator('admin')) await addAdministration(fastify)
  await answerElsewhere(fastify)
  // A command provisions by itself.
  fastify.addHook('onListen', async () => {
    fastify.log.info({ resource }, 'directories may register and end users (SCIM)')
  })
}

/** Below the address of SCIM, what is not there is told as SCIM tells it. */
async function answerElsewhere(fastify: FastifyInstance): Promise<void> {
  const { basePath } = fastify.oauth.config
  const told = { status: 404, description: 'there is nothing here' }
  await fastify.register(
    async (scope) => {
      await keepHouseRules(scope)
      scope.setNotFoundHandler(async (_request, reply) =>
        reply
          .code(404)
          .header('content-type', FAILURES.type)
          .send(Buffer.from(JSON.stringify(FAILURES.body(told)))),
      )
    },
    scopeOptions(fastify, `${basePath}${PATH}`),
  )
}

export default fp(scim, { name: 'latchkey-scim', dependencies: ['latchkey-oauth'] })
