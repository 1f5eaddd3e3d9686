/**
 * What the standalone server says where it has nothing: 405 with `Allow` where another method is served, else 404;
 * to browsers as a page.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import fp from 'fastify-plugin'
import createRouter from 'find-my-way'
import { OAuthError } from '../src/protocol/errors.ts'
import { refusing } from '../src/http/methods.ts'
import { sendErrorPage, wantsPage } from './pages/error-page.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

async function notFound(fastify: FastifyInstance): Promise<void> {
  /** The same routes once more, since Fastify's own router tells nothing of other methods. */
  const routes = createRouter()
  const served = new Set<string>()
  fastify.addHook('onRoute', ({ method, url, config }) => {
    if ((config as { [refusing]?: true } | undefined)?.[refusing]) return
    for (const one of [method].flat()) {
      if (!METHODS.includes(one as (typeof METHODS)[number]) || served.has(`${one} ${url}`)) continue
      served.add(`${one} ${url}`)
      routes.on(one as HTTPMethods & 'GET', url, () => {})
    }
  })

  fastify.setNotFoundHandler(async (request: FastifyRequest, reply: FastifyReply) => {
    const [path = '/'] = request.url.split('?')
    const allowed = METHODS.filter((method) => routes.find(method, path) !== null)
    const error = describe(allowed.join(', '))
    if (!fastify.hasReplyDecorator('page') || !wantsPage(request)) throw error
    return sendErrorPage(error, request, reply)
  })
}

function describe(allow: string): OAuthError {
  if (allow === '') return new OAuthError('not_found', 'there is nothing here', { status: 404 })
  const headers = { allow }
  return new OAuthError('invalid_request', `only ${allow} is served here`, { status: 405, headers })
}

export default fp(notFound, { name: 'latchkey-not-found' })
