/**
 * What is ready within one turn of the event loop leaves at its end, one after the other. Whoever waits for several
 * answers, as a proxy does, is then woken once: waking another process costs the kernel more than many an answer costs us
 * (docs/adr/0020).
 */
import type { FastifyReply } from 'fastify'

/** Answers that leave without waiting for more: what a turn brings may take long, and the first has waited for it. */
const TOGETHER = 16

interface Turn {
  readonly over: Promise<void>
  readonly end: () => void
  ready: number
}

let turn: Turn | undefined

/** Sends `payload` as `reply.send` does, at the end of this turn; the hooks of each answer are in its own async context. */
export function sendAtEndOfTurn(reply: FastifyReply, payload: unknown): void {
  const current = (turn ??= begin())
  if (++current.ready === TOGETHER) current.end()
  void current.over.then(() => {
    try {
      reply.send(payload)
    } catch (error) {
      // A hook of the app that threw.
      reply.send(error)
    }
  })
}

function begin(): Turn {
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const begun: Turn = { over, end, ready: 0 }

  function end(): void {
    if (turn === begun) turn = undefined
    resolve()
  }

  setImmediate(end)
  return begun
}
