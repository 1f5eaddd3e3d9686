/**
 * `/.well-known/passkey-endpoints`, by which password managers find where passkeys are added and kept (W3C, A Well-Known URL for Relying Party
 * Passkey Endpoints). It lies at the root of the origin, which is ours only where the issuer has no path.
 */
import type { FastifyInstance } from 'fastify'
import { refuseOtherMethods } from '../../src/http/methods.ts'

const PATH = '/.well-known/passkey-endpoints'

export async function addWellKnown(fastify: FastifyInstance): Promise<void> {
  const { config, issuer } = fastify.oauth
  if (config.basePath !== '') return
  const address = `${issuer}/account/security`
  await fastify.register(async (scope) => {
    scope.get(PATH, async (_request, reply) =>
      reply.header('cache-control', 'public, max-age=3600').send({ enroll: address, manage: address }),
    )
    refuseOtherMethods(scope, PATH, ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'GET, HEAD')
  })
}
