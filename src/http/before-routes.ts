/** What comes before the handlers of every route, save those at which nothing is done. */
import type { FastifyInstance, preValidationHookHandler } from 'fastify'

/**
 * Marks a route (in its `config`) that only says what is known already, as documents and probes are answered: it need not
 * be refused when there is much to do, and there is nothing to note.
 */
export const passive = Symbol('latchkey: route at which nothing is done')

/** Once a request is complete, `hook` runs before anything of the route's own. Watches the routes that come after it. */
export function beforeRoutes(fastify: FastifyInstance, hook: preValidationHookHandler): void {
  // Not a hook of the instance: the passive ones would run it too, and what they cost is mostly hooks.
  fastify.addHook('onRoute', (route) => {
    if ((route.config as { [passive]?: true } | undefined)?.[passive]) return
    route.preValidation = [hook, ...[route.preValidation ?? []].flat()]
  })
}
