/** An operator's plugin, for PLUGINS: a guarded route, members of client metadata, and stored things of its own. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'

export default async function guarded(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  oauth.extendClientMetadata(
    Type.Partial(
      Type.Object({ shelf_limit: Type.Integer({ minimum: 1 }), shelf_names: Type.Array(Type.String()) }),
    ),
  )
  const tickets = oauth.artifacts('ticket', { lifetime: 60 })
  fastify.get('/shelf', { config: { scope: 'read_shelf' } }, async () => ({ shelf: [] }))
  fastify.post('/tickets', { config: { scope: 'read_shelf' } }, async () => ({
    ticket: await tickets.put({ of: 'shelf' }),
  }))
  fastify.get('/fault', async () => {
    throw new Error('a fault of the plugin')
  })
}
