/**
 * Scopes whose bodies are forms: `application/x-www-form-urlencoded` in UTF-8, decoded by our own strict parser, and
 * nothing else.
 */
import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { OAuthError } from '../protocol/errors.ts'
import { isRepeated } from '../protocol/headers.ts'

const BODY_LIMIT = 65_536

/** Makes `scope` accept forms alone; `formText` then gives what a request brought. */
export async function acceptForms(scope: FastifyInstance): Promise<void> {
  scope.removeAllContentTypeParsers()
  await scope.register(formbody, { parser: (text) => ({ text }), bodyLimit: BODY_LIMIT })
  // Not async: it runs before every request.
  scope.addHook('onRequest', ({ raw }, _reply, done) => done(problemOf(raw)))
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

function problemOf({ rawHeaders, headers }: IncomingMessage): OAuthError | undefined {
  const repeated = ['authorization', 'content-type'].find((name) => isRepeated(rawHeaders, name))
  if (repeated !== undefined) return new OAuthError('invalid_request', `the ${repeated} header is repeated`)
  if (isPlainForm(headers)) return undefined
  return new OAuthError('invalid_request', 'the body must be a plain form in UTF-8', { status: 415 })
}

/** Fastify has chosen the parser by the media type; its parameters and an encoding are ours to refuse. */
function isPlainForm(headers: IncomingHttpHeaders): boolean {
  const { 'content-type': type = '', 'content-encoding': encoding, 'transfer-encoding': transfer } = headers
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1]
  return (
    (charset === undefined || /^utf-?8$/i.test(charset)) &&
    (encoding === undefined || encoding === 'identity') &&
    (transfer === undefined || transfer.toLowerCase() === 'chunked')
  )
}
