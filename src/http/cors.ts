/**
 * What lets single-page apps of any origin call an address from a browser and read its answers, refusals too (CORS).
 * Never with cookies, so nothing is given that any other program could not have; never where pages are.
 */
import type { FastifyInstance } from 'fastify'

const READABLE = {
  'access-control-allow-origin': '*',
  // DPoP's nonce (RFC 9449 §8) and the reason of a 401 (RFC 6750 §3), which scripts may not read unasked.
  'access-control-expose-headers': 'DPoP-Nonce, WWW-Authenticate',
} as const

/** Marks a route for OPTIONS (in its `config`) at an address whose methods it tells: `() => 'GET, HEAD, PUT'`. */
export const preflight = Symbol('latchkey: methods of the address')

// Browsers send these unasked to where they may send anything: which of them are served, a 405 says.
const SIMPLE = ['GET', 'HEAD', 'POST']
const PREFLIGHT = {
  // `x-requested-with` is what Swagger UI and others who grew up with XMLHttpRequest send with whatever they ask; by the last name Okta's SDK
  // says who it is. No `*`: what proxies tell (`X-Forwarded-For`, a certificate) is not for scripts to say in a browser beside one.
  'access-control-allow-headers':
    'authorization, content-type, dpop, mcp-protocol-version, x-requested-with, x-okta-user-agent-extended',
  // Browsers keep it no longer than two hours.
  'access-control-max-age': '7200',
} as const

function methodsAt(config: object): string {
  const told = (config as { [preflight]?: () => string })[preflight]?.().split(', ') ?? []
  return [...SIMPLE, ...told.filter((method) => !SIMPLE.includes(method))].join(', ')
}

/**
 * Opens the routes of `scope` to browsers. Before its other hooks, so that their refusals can be read; each address
 * needs a route for OPTIONS, such as `refuseOtherMethods` makes.
 */
export function allowBrowsers(scope: FastifyInstance): void {
  scope.addHook('onRequest', ({ method, headers: { origin }, routeOptions }, reply, next) => {
    if (origin !== undefined) reply.headers(READABLE)
    if (method === 'OPTIONS' && origin !== undefined)
      reply
        .code(204)
        .headers({ ...PREFLIGHT, 'access-control-allow-methods': methodsAt(routeOptions.config) })
        .send()
    else next()
  })
}
