/** Answers that are texts already, and leave as they are. */
import type { FastifyReply } from 'fastify'

/**
 * Sends `text` under exactly these headers: with a serializer of its own, Fastify adds no charset to its type. As text and
 * not as bytes: Node then writes head and body in one piece.
 */
export function sendText(
  reply: FastifyReply,
  headers: Readonly<Record<string, string>>,
  text: string,
): FastifyReply {
  return reply.headers(headers).serializer(asIs).send(text)
}

function asIs(text: unknown): string {
  return text as string
}
