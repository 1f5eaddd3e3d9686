/** What is served at an address, by method and with or without a slash, and that all else there is refused with 405. */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods, RouteHandlerMethod } from 'fastify'
import type { EndpointMethod } from '../doors/endpoint.ts'
import type { FailureForm } from '../doors/failure-form.ts'
import { OAuthError } from '../protocol/errors.ts'
import { preflight } from './cors.ts'
import { failureForm } from './errors.ts'

/** Marks a route (in its `config`) that only refuses its methods, or did when it was made. */
export const refusing = Symbol('latchkey: refusing route')

/** An address as it is and with a slash at its end, except where the router of the app takes the two for one. */
export function withSlash(scope: FastifyInstance, path: string): string[] {
  const { ignoreTrailingSlash, routerOptions } = scope.initialConfig
  return ignoreTrailingSlash || routerOptions?.ignoreTrailingSlash ? [path] : [path, `${path}/`]
}

/** Answers the given methods at `url` with 405 and `Allow` (RFC 9110 §15.5.6). */
export function refuseOtherMethods(
  scope: FastifyInstance,
  url: string,
  methods: HTTPMethods[],
  allow: string,
): void {
  const refuse = async (): Promise<never> => {
    throw notServed(allow)
  }
  scope.route({
    method: methods,
    url,
    config: { [refusing]: true },
    exposeHeadRoute: methods.includes('GET'),
    // Before anything is read of the body, or asked of the caller.
    onRequest: refuse,
    handler: refuse,
  })
}

/** How one method is served. */
export interface Served {
  readonly handler: RouteHandlerMethod
  /** Asked before anything of the body is read. */
  readonly guard?: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
}

/** A path whose methods come one by one, from whoever registers them. */
export interface Address {
  serve(method: EndpointMethod, served: Served): void
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
/** Nothing is found there, and nothing asked. */
const NOTHING: Served = { handler: async () => undefined }

/**
 * The first method gets a route of its own, with nothing before its handler. The others share one that refuses what is not
 * served yet: a router takes no route twice, so that a 405 could not make room for what comes later.
 */
export function createAddress(scope: FastifyInstance, path: string, failures?: FailureForm): Address {
  const told: object = { [failureForm]: failures }
  const served = new Map<string, Served>()
  const find = ({ method }: FastifyRequest): Served | undefined =>
    served.get(method === 'HEAD' ? 'GET' : method)
  const allowed = (): string =>
    METHODS.filter((method) => served.has(method))
      .map((method) => (method === 'GET' ? 'GET, HEAD' : method))
      .join(', ')

  function open(first: EndpointMethod, { handler, guard }: Served): void {
    const others = [...METHODS.filter((method) => method !== first), 'OPTIONS']
    for (const url of withSlash(scope, path)) {
      scope.route({
        method: first,
        url,
        config: told,
        exposeHeadRoute: first === 'GET',
        ...(guard === undefined ? {} : { onRequest: guard }),
        handler,
      })
      scope.route({
        method: others,
        url,
        config: { ...told, [refusing]: true, [preflight]: allowed },
        exposeHeadRoute: first !== 'GET',
        onRequest: async (request, reply) => {
          const known = find(request)
          if (known === undefined) throw notServed(allowed())
          await known.guard?.(request, reply)
        },
        handler(request, reply) {
          return (find(request) ?? NOTHING).handler.call(this, request, reply)
        },
      })
    }
  }

  return {
    serve(method, how) {
      const isFirst = served.size === 0
      served.set(method, how)
      if (isFirst) open(method, how)
    },
  }
}

function notServed(allow: string): OAuthError {
  return new OAuthError('invalid_request', `only ${allow} is served here`, {
    status: 405,
    headers: { allow },
  })
}
