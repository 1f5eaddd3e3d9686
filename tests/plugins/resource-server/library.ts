/** An operator's module for PLUGINS: guarded routes that are typed from end to end. */
import type { FastifyInstance } from 'fastify'
import type { AccessToken } from '../../../plugins/require-scope/index.ts'

export default async function library(fastify: FastifyInstance): Promise<void> {
  fastify.get('/library', { config: { scope: 'read_books' } }, async (request) => {
    const token: AccessToken = request.token
    return { reader: token.clientId, scopes: [...token.scopes] }
  })
  fastify.post('/library', { preHandler: fastify.requireScope('read_books', 'write_books') }, async () => ({
    stored: true,
  }))
}
