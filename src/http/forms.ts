/**
 * Scopes whose bodies are forms: `application/x-www-form-urlencoded` in UTF-8, decoded by our own strict parser, and
 * nothing else.
 */
import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { BODY_LIMIT, problemOfBody } from './bodies.ts'

/** Makes `scope` accept forms alone; `formText` then gives what a request brought. */
export async function acceptForms(scope: FastifyInstance): Promise<void> {
  scope.removeAllContentTypeParsers()
  await scope.register(formbody, { parser: (text) => ({ text }), bodyLimit: BODY_LIMIT })
  // Not async: it runs before every request.
  scope.addHook('onRequest', ({ raw }, _reply, done) => done(problemOfBody(raw, 'a plain form')))
}

/** The form as it was sent, not decoded yet; `''` when there was none. */
export function formText(request: FastifyRequest): string {
  return (request.body as { text: string } | null | undefined)?.text ?? ''
}

/** The query as it was sent, without its `?`. */
export function queryText({ raw: { url = '' } }: FastifyRequest): string {
  const query = url.indexOf('?')
  return query < 0 ? '' : url.slice(query + 1)
}
