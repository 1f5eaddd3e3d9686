/**
 * `/.well-known/change-password`, by which password managers find the page (W3C, A Well-Known URL for Changing
 * Passwords). It lies at the root of the origin, which is ours only where the issuer has no path.
 */
import type { FastifyInstance } from 'fastify'
import { refuseOtherMethods } from '../../src/http/methods.ts'
import { sendErrorPage } from '../pages/error-page.ts'

const PATH = '/.well-known/change-password'

export async function addWellKnown(fastify: FastifyInstance): Promise<void> {
  if (fastify.oauth.config.basePath !== '') return
  await fastify.register(async (scope) => {
    scope.setErrorHandler(sendErrorPage)
    scope.get(PATH, async (_request, reply) => reply.redirect('/account/password', 303))
    refuseOtherMethods(scope, PATH, ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'GET, HEAD')
  })
}
