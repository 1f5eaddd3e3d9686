/**
 * The time between being asked to stop and stopping: requests are still answered, and `/readyz` says not to send any
 * more. Then, when there is no way in any more, every connection ends with its next answer; who has nothing to ask goes
 * last, since a request may be on its way there.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

declare module 'fastify' {
  interface FastifyInstance {
    drain: {
      /** Whether this server is about to end. */
      readonly begun: boolean
      /** Begins, and cannot be taken back; closing the server begins it too. */
      begin(): void
      /**
       * Connections end with their next answer, also one that is under way. Not before the listener is closed: a balancer
       * that is sent away opens new ones, and those that are on their way when it closes are lost.
       */
      endConnections(): void
      /** Connections of now end with their next answer; whoever comes again may find another process. */
      partWithPresent(): void
      /** Ends the connections on which nothing is under way, and those on which nothing ever came. */
      closeIdle(): void
    }
  }
}

/** Node keeps the response that a connection waits for here, and nowhere that is documented. */
interface Connection extends Socket {
  _httpMessage?: ServerResponse | null
}

async function drain(fastify: FastifyInstance): Promise<void> {
  const connections = new Set<Connection>()
  let begun = false
  let ending = false

  fastify.server.on('connection', (connection: Connection) => {
    connections.add(connection)
    connection.once('close', () => {
      connections.delete(connection)
      leaving.delete(connection)
    })
  })

  function endConnections(): void {
    if (ending) return
    ending = true
    // Not a hook: those would be asked at every request of a server's life.
    fastify.server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const { _httpMessage: earlier } = socket as Connection
      // Who is asked for more behind a request under way is not done with that one's answer.
      if (earlier?.headersSent === false) earlier.removeHeader('connection')
      response.setHeader('connection', 'close')
    })
    for (const { _httpMessage: underWay } of connections)
      if (underWay?.headersSent === false) underWay.setHeader('connection', 'close')
  }

  const leaving = new Set<Connection>()
  let isParting = false

  function part({ socket }: IncomingMessage, response: ServerResponse): void {
    if (leaving.delete(socket)) response.setHeader('connection', 'close')
    if (leaving.size > 0) return
    isParting = false
    fastify.server.off('request', part)
  }

  function partWithPresent(): void {
    for (const connection of connections) leaving.add(connection)
    if (isParting || leaving.size === 0) return
    isParting = true
    fastify.server.prependListener('request', part)
  }

  fastify.decorate('drain', {
    get begun() {
      return begun
    },
    begin() {
      begun = true
    },
    endConnections,
    partWithPresent,
    closeIdle() {
      fastify.server.closeIdleConnections()
      // Node waits for the first request as for one that is under way.
      for (const connection of connections) if (connection.bytesRead === 0) connection.destroy()
    },
  })
  fastify.addHook('preClose', async () => {
    begun = true
    endConnections()
  })
}

export default fp(drain, { name: 'latchkey-drain' })
