/** Answers that are texts already, and leave as they are. */
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { sendAtEndOfTurn } from './end-of-turn.ts'

/**
 * Sends `text` under exactly these headers, at the end of the turn. With a serializer of its own, Fastify adds no charset to
 * its type. As text and not as bytes: Node then writes head and body in one piece.
 */
export function sendText(reply: FastifyReply, headers: Readonly<Record<string, string>>, text: string): void {
  reply.headers(headers).serializer(asIs)
  sendAtEndOfTurn(reply, text)
}

/** A handler that sends by `sendText` when `work` is done, which an async one of Fastify's could not; errors are as ever. */
export function sending(
  work: (request: FastifyRequest, reply: FastifyReply) => Promise<void>,
): RouteHandlerMethod {
  return (request, reply) => {
    work(request, reply).catch((error: unknown) => {
      reply.send(error instanceof Error ? error : new Error('what was thrown is no Error', { cause: error }))
    })
  }
}

function asIs(text: unknown): string {
  return text as string
}
