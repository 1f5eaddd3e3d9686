/**
 * What the standalone server says where it has nothing: 405 with `Allow` where another method is served, else 404;
 * to browsers as a page.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import createRouter from 'find-my-way'
import { OAuthError } from '../src/protocol/errors.ts'
import { refusing } from '../src/http/methods.ts'
import { sendErrorPage, wantsPage } from './pages/error-page.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

type Method = (typeof METHODS)[number]

async function notFound(fastify: FastifyInstance): Promise<void> {
  const served = new Map<string, Set<Method>>()
  fastify.addHook('onRoute', ({ method, url, config }) => {
    if ((config as { [refusing]?: true } | undefined)?.[refusing]) return
    const known = served.get(url) ?? new Set()
    served.set(url, known)
    for (const one of [method].flat()) if (METHODS.includes(one as Method)) known.add(one as Method)
  })
  let router: ReturnType<typeof createRouter> | undefined

  fastify.setNotFoundHandler(async (request: FastifyRequest, reply: FastifyReply) => {
    router ??= routerOf(served, fastify.initialConfig.routerOptions?.ignoreTrailingSlash)
    const [path = '/'] = request.url.split('?')
    const allowed = METHODS.filter((method) => router!.find(method, path) !== null)
    const error = describe(allowed.join(', '))
    if (!fastify.hasReplyDecorator('page') || !wantsPage(request)) throw error
    return sendErrorPage(error, request, reply)
  })
}

/** The same routes once more, since Fastify's own router tells nothing of other methods. Most starts never need it. */
function routerOf(
  served: ReadonlyMap<string, ReadonlySet<Method>>,
  ignoreTrailingSlash = false,
): ReturnType<typeof createRouter> {
  const routes = createRouter({ ignoreTrailingSlash })
  for (const [url, methods] of served) for (const method of methods) routes.on(method, url, () => {})
  return routes
}

function describe(allow: string): OAuthError {
  if (allow === '') return new OAuthError('not_found', 'there is nothing here', { status: 404 })
  const headers = { allow }
  return new OAuthError('invalid_request', `only ${allow} is served here`, { status: 405, headers })
}

export default fp(notFound, { name: 'latchkey-not-found' })
