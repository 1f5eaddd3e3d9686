/**
 * The time between being asked to stop and stopping: requests are still answered, `/readyz` says not to send any more,
 * and every connection ends with its next answer, so that a balancer has none left when the listener closes.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { ServerResponse } from 'node:http'

declare module 'fastify' {
  interface FastifyInstance {
    drain: {
      /** Whether this server is about to end. */
      readonly begun: boolean
      /** Begins, and cannot be taken back; closing the server begins it too. */
      begin(): void
    }
  }
}

async function drain(fastify: FastifyInstance): Promise<void> {
  let begun = false

  function begin(): void {
    if (begun) return
    begun = true
    // Not a hook: those would be asked at every request of a server's life.
    fastify.server.prependListener('request', (_request: unknown, response: ServerResponse) => {
      response.setHeader('connection', 'close')
    })
  }

  fastify.decorate('drain', {
    get begun() {
      return begun
    },
    begin,
  })
  fastify.addHook('preClose', async () => begin())
}

export default fp(drain, { name: 'latchkey-drain' })
