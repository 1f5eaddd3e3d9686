/**
 * Decorates `fastify.interactions`: asks an end-user what has to be asked before a request is answered, on pages of
 * its own address. What a step asks, and what becomes of the end, is for their plugins.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { assertLengths } from '../../src/protocol/parameters.ts'
import { parseForm } from '../../src/protocol/wire.ts'
import { refuseOtherMethods } from '../../src/http/methods.ts'
import { acceptForms, formText, queryText } from '../../src/http/forms.ts'
import { sendErrorPage } from '../pages/error-page.ts'
import { MAX_SEALED, REQUEST } from './asked.ts'
import { createEngine, type Engine } from './engine.ts'
import type { Address } from './walk.ts'
import { InteractionOver, WentOn } from './over.ts'
import { createOwnSignIn, type OwnSignIn } from './own-sign-in.ts'
import { WAYS_OUT } from './ways-out.ts'

export interface Interactions extends OwnSignIn {
  /**
   * Asks what has to be asked, then lets `outcome` answer; at once where nothing has to. `state` is for the outcome.
   * `prompt=none` among the request's parameters ends it with an error instead of a page.
   */
  readonly start: Engine['start']
}

declare module 'fastify' {
  interface FastifyInstance {
    interactions: Interactions
  }
}

interface OnePage {
  Params: { id: string; step: string }
}

const LENGTHS = new Map([[REQUEST, MAX_SEALED]])

async function interaction(fastify: FastifyInstance): Promise<void> {
  const engine = createEngine(fastify)
  const ours = createOwnSignIn(fastify, engine)
  fastify.decorate('interactions', { start: engine.start, ...ours })
  // Of all plugins whose pages ask for another factor.
  await fastify.pages.add(WAYS_OUT, new URL(`../../templates/${WAYS_OUT}.eta`, import.meta.url))

  await fastify.register(
    async (scope) => {
      await acceptForms(scope)
      scope.setErrorHandler((error, request, reply) => {
        if (error instanceof WentOn) return reply.redirect(error.address, 303)
        return error instanceof InteractionOver
          ? engine.showOver(error, { request, reply })
          : sendErrorPage(error, request, reply)
      })
      scope.get<OnePage>('/interaction/:id', async (request, reply) =>
        engine.resume(addressOf(request), { request, reply }),
      )
      scope.post<OnePage>('/interaction/:id/:step', async (request, reply) => {
        const wire = parseForm(formText(request))
        assertLengths(wire)
        return engine.submit(addressOf(request), request.params.step, wire, { request, reply })
      })
      refuseOtherMethods(
        scope,
        '/interaction/:id',
        ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
        'GET, HEAD',
      )
      refuseOtherMethods(
        scope,
        '/interaction/:id/:step',
        ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
        'POST',
      )
    },
    { prefix: fastify.oauth.config.basePath },
  )
}

function addressOf(request: FastifyRequest<OnePage>): Address {
  const wire = parseForm(queryText(request))
  assertLengths(wire, LENGTHS)
  return { id: request.params.id, sealed: (wire[REQUEST] as string | undefined) ?? '' }
}

export default fp(interaction, {
  name: 'latchkey-interaction',
  dependencies: ['latchkey-oauth', 'latchkey-browser', 'latchkey-language', 'latchkey-pages'],
})
