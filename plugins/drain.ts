/**
 * The time between being asked to stop and stopping: requests are still answered, and `/readyz` says not to send any
 * more. Then, when there is no way in any more, every connection ends with its next answer.
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
      /**
       * Connections end with their next answer. Not before the listener is closed: a balancer that is sent away opens
       * new ones, and those that are on their way when it closes are lost.
       */
      endConnections(): void
    }
  }
}

async function drain(fastify: FastifyInstance): Promise<void> {
  let begun = false
  let ending = false

  function endConnections(): void {
    if (ending) return
    ending = true
    // Not a hook: those would be asked at every request of a server's life.
    fastify.server.prependListener('request', (_request: unknown, response: ServerResponse) => {
      response.setHeader('connection', 'close')
    })
  }

  fastify.decorate('drain', {
    get begun() {
      return begun
    },
    begin() {
      begun = true
    },
    endConnections,
  })
  fastify.addHook('preClose', async () => {
    begun = true
    endConnections()
  })
}

export default fp(drain, { name: 'latchkey-drain' })
