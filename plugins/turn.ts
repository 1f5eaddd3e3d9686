/**
 * What is ready within one turn of the event loop leaves at its end, one after the other. Whoever waits for several
 * answers, as a proxy does, is then woken once: waking another process costs the kernel more than many an answer costs us
 * (docs/adr/0020).
 */
import type { FastifyReply } from 'fastify'

/** Answers that leave without waiting for more: what a turn brings may take long, and the first has waited for it. */
const TOGETHER = 16

interface Ready {
  readonly reply: FastifyReply
  readonly payload: unknown
}

let ready: Ready[] = []
let scheduled = false

/** Sends `payload` as `reply.send` does, at the end of this turn. */
export function sendAtEndOfTurn(reply: FastifyReply, payload: unknown): void {
  ready.push({ reply, payload })
  if (ready.length === TOGETHER) sendAll()
  else if (!scheduled) {
    scheduled = true
    setImmediate(endTurn)
  }
}

function endTurn(): void {
  scheduled = false
  sendAll()
}

function sendAll(): void {
  const leaving = ready
  ready = []
  for (const { reply, payload } of leaving) {
    try {
      reply.send(payload)
    } catch (error) {
      // A hook of the app that threw: none of the others' business.
      reply.send(error)
    }
  }
}
