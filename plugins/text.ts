/** Answers that are texts already, and leave as they are. */
import type { FastifyReply } from 'fastify'
import { endOfTurn } from './turn.ts'

/**
 * For a handler to return: `text` is sent under exactly these headers, at the end of the turn. With a serializer of its own,
 * Fastify adds no charset to its type. As text and not as bytes: Node then writes head and body in one piece.
 */
export async function sendText(
  reply: FastifyReply,
  headers: Readonly<Record<string, string>>,
  text: string,
): Promise<string> {
  reply.headers(headers).serializer(asIs)
  await endOfTurn()
  return text
}

function asIs(text: unknown): string {
  return text as string
}
