/**
 * The end of the listener alone: what is connected goes on. The system resets whoever has connected and was not let in
 * yet, and a balancer must not send such a POST again; so this waits for a moment in which nobody knocks. Requests wait with
 * it, three quarters of a second at most, and a few where the machine has no time for this: who is answered may knock again at once.
 */
import type { FastifyInstance } from 'fastify'
import { Server } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds without anybody that it would like, and how much less with every try. */
const [PAUSE, LESS] = [50, 5]
/** Milliseconds after which it is closed on a server that has no quiet one, and tries that it has had by then at least. */
const [PATIENCE, TRIES] = [500, 16]
/** Milliseconds for all of them, on a machine that is slow with them; and for a look, whoever must look with us. */
const [LONGEST, LOOK] = [3000, 450]
/** Milliseconds that the look after closing has where the one before it did not end. */
const LAST = 250

/**
 * `look` ends when somebody who had knocked at its beginning has been let in, or nobody had. One that does not end, since
 * who must look stands still, is not waited for. `isClosed` ends when what was closed before is closed, by everybody who
 * shares it: whoever were answered by one would knock at another that is just closing. Returns what lets the requests go
 * on that came meanwhile.
 */
export async function stopListening(
  { server }: FastifyInstance,
  look = lookOnce,
  isClosed = look,
): Promise<() => void> {
  const release = hold(server)
  let knocks = 0
  const count = (): number => knocks++
  server.on('connection', count)
  const begun = performance.now()
  let hasLooked = true
  for (let tries = 1; ; tries++) {
    const before = knocks
    await sleep(Math.max(1, PAUSE - LESS * (tries - 1)))
    hasLooked = await within(LOOK, look)
    const spent = performance.now() - begun
    if (!hasLooked || knocks === before || spent > LONGEST) break
    if (spent > PATIENCE && tries >= TRIES) break
  }
  server.off('connection', count)
  // That of HTTP would also cut connections that are idle, on which the next request may be under way.
  Server.prototype.close.call(server)
  await within(hasLooked ? LONGEST + LAST : LAST, isClosed)
  return release
}

/** Waits for `look`, so many milliseconds at most; false when that was too short. */
async function within(milliseconds: number, look: () => Promise<void>): Promise<boolean> {
  return Promise.race([look().then(() => true), sleep(milliseconds, false, { ref: false })])
}

/** Requests of now wait, as if they came later. */
function hold(server: FastifyInstance['server']): () => void {
  const handlers = server.listeners('request') as ((...request: unknown[]) => void)[]
  const held: unknown[][] = []
  const wait = (...request: unknown[]): number => held.push(request)
  for (const handler of handlers) server.off('request', handler)
  server.on('request', wait)
  return () => {
    server.off('request', wait)
    for (const handler of handlers) server.on('request', handler)
    for (const request of held) server.emit('request', ...request)
  }
}

/** From one check phase of the event loop to the next: between them it looks at the sockets. */
async function lookOnce(): Promise<void> {
  await setImmediate()
}
