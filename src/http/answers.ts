/** How endpoints answer: JSON or a text, never stored (RFC 6749 §5.1). */
import type { FastifyReply } from 'fastify'
import { isAnswer, type Answer } from '../doors/answer.ts'
import type { Bag } from '../protocol/bag.ts'
import { sendText } from './ready-text.ts'

/** RFC 6749 §5.1 asks for both; Pragma is for caches of HTTP/1.0. */
const NEVER_STORED = { 'cache-control': 'no-store', pragma: 'no-cache' } as const
const JSON_HEADERS = { 'content-type': 'application/json', ...NEVER_STORED } as const

/** Sends `body` as JSON with exactly the headers of RFC 6749 §5.1. */
export function sendJson(reply: FastifyReply, body: Bag): void {
  sendText(reply, JSON_HEADERS, JSON.stringify(body))
}

/** What a handler returned. */
export function sendAnswer(reply: FastifyReply, answer: Bag | Answer): void {
  if (!isAnswer(answer)) return sendJson(reply, answer)
  const { status, headers, text, type } = answer
  reply.code(status)
  if (text === undefined) reply.headers({ ...headers, ...NEVER_STORED }).send()
  else sendText(reply, { ...headers, ...NEVER_STORED, 'content-type': type }, text)
}
