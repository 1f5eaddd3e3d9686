/**
 * The end of the listener alone: what is connected goes on. The system resets whoever has connected and was not let in
 * yet, and a balancer must not send such a POST again; so this waits for a moment in which nobody knocks.
 */
import type { FastifyInstance } from 'fastify'
import { Server } from 'node:net'
import { setImmediate } from 'node:timers/promises'

/** Turns of the event loop after which it is closed on a server that has no quiet one. */
const TURNS = 1000

export async function stopListening({ server }: FastifyInstance): Promise<void> {
  let events = 0
  const count = (): number => events++
  server.on('connection', count).on('request', count)
  for (let turn = 0, before = -1; turn < TURNS && before !== events; turn++) {
    before = events
    await setImmediate()
  }
  server.off('connection', count).off('request', count)
  // That of HTTP would also cut connections that are idle, on which the next request may be under way.
  Server.prototype.close.call(server)
}
