// Routes that say what they need (`config.scope`, `config.authentication`): each gets its guard as it is made. What has none,
// because it was made before the plugin was there, or says nothing where silence opens nothing, is refused.
import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify'
import { readDemand } from './authentication.ts'
import { ownErrorHandler, refuseUnguarded, type Needs, type RequireScopeHook } from './guard.ts'
import { readRouteScopes } from './scope.ts'

/** Says (in the `config` of a route) of which registration the guard in front of it is. */
const guardedBy = Symbol('@latchkey/require-scope: guarded by')

/** The guards of one registration. */
export interface Guards {
  /** Its decorator, by which its routes are known: those of a registration further in have another. */
  readonly requireScope: FastifyInstance['requireScope']
  readonly unguarded: 'allow' | 'deny'
  create(needs: Needs): RequireScopeHook
  has(hook: object): boolean
}

type Config = FastifyContextConfig & { [guardedBy]?: unknown; [ownErrorHandler]?: boolean }

/** A registration further in has the say over its own routes. */
export function guardRoutes(fastify: FastifyInstance, guards: Guards): void {
  const { requireScope } = guards
  const isOurs = (instance: FastifyInstance): boolean => instance.requireScope === requireScope
  const lacksGuard = ({ server, routeOptions }: FastifyRequest): boolean =>
    isOurs(server) && (routeOptions.config as Config)[guardedBy] !== requireScope

  fastify.addHook('onRoute', function guardRoute(this: FastifyInstance, route) {
    if (!isOurs(this)) return
    const marks: Config = route.errorHandler === undefined ? {} : { [ownErrorHandler]: true }
    const needs = readNeeds(route.config)
    if (needs !== undefined) route.onRequest = [guards.create(needs), ...[route.onRequest ?? []].flat()]
    const hooks: readonly object[] = [route.onRequest ?? [], route.preHandler ?? []].flat()
    if (hooks.some((hook) => guards.has(hook))) marks[guardedBy] = requireScope
    route.config = Object.assign({}, route.config, marks)
  })
  // Unlike onRoute, this reaches what was made before, here and further in.
  fastify.addHook('onRequest', function refuseEarlier(request, _reply, done) {
    done(asksForToken(request.routeOptions.config) && lacksGuard(request) ? comesLate(request) : undefined)
  })
  if (guards.unguarded === 'allow') return
  // Behind all of onRequest, where a guard of the whole app may be.
  fastify.addHook('preParsing', async function refuseSilent(request, reply) {
    if (request.is404 || request.routeOptions.config.scope === false || !lacksGuard(request)) return
    await refuseUnguarded(request, reply)
  })
}

/** Whether a route with this `config` must not be open. */
export function asksForToken({ scope, authentication }: FastifyContextConfig): boolean {
  return (scope !== undefined && scope !== false) || authentication !== undefined
}

/** Undefined for everybody. */
function readNeeds({ scope, authentication }: Config = {}): Needs | undefined {
  if (scope === undefined || scope === false) {
    if (authentication === undefined) return undefined
    throw new TypeError('requireScope: authentication needs a scope beside it; [] asks for any good token')
  }
  return { scopes: readRouteScopes(scope), demand: readDemand(authentication) }
}

function comesLate({ method, url, routeOptions }: FastifyRequest): Error {
  const where = `${method} ${routeOptions.url ?? url}`
  return new Error(
    `requireScope: ${where} has no guard, since it was made before requireScope was registered: await the registration`,
  )
}
