/** Requests by route, method and kind of status: never by address, which a stranger chooses and which may hold a secret. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Counter, Histogram, type Registry } from 'prom-client'

/** Seconds. The quickest answers take a fraction of a millisecond, a sign-in a few hundred. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function measureRequests(fastify: FastifyInstance, registry: Registry): void {
  const registers = [registry]
  const duration = new Histogram({
    name: 'latchkey_http_request_duration_seconds',
    help: 'Requests that were answered, by route, method and kind of status, and how long each took',
    labelNames: ['route', 'method', 'status'] as const,
    buckets: BUCKETS,
    registers,
  })
  const throttled = new Counter({
    name: 'latchkey_throttled_requests_total',
    help: 'Requests that were answered with 429',
    labelNames: ['route'] as const,
    registers,
  })
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = routeOf(request)
    const status = `${Math.floor(reply.statusCode / 100)}xx`
    duration.observe({ route, method: request.method, status }, reply.elapsedTime / 1000)
    if (reply.statusCode === 429) throttled.inc({ route })
    done()
  })
}

/** As it was registered, with and without a slash at the end; `none` where nothing is. */
function routeOf({ routeOptions: { url } }: FastifyRequest): string {
  if (url === undefined) return 'none'
  return url.length > 1 && url.endsWith('/') ? url.slice(0, -1) : url
}
