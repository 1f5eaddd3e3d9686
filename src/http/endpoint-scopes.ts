/**
 * The scopes in which endpoints lie, by what bodies they read and whether they are open to browsers: body parser and error
 * handler are nobody else's.
 */
import type { FastifyInstance } from 'fastify'
import { allowBrowsers } from './cors.ts'
import { sendError } from './errors.ts'
import { acceptForms } from './forms.ts'
import { keepHouseRules, scopeOptions } from './house-rules.ts'
import { acceptJson } from './json-body.ts'

export interface Kind {
  readonly body: 'form' | 'json'
  readonly cors: boolean
}

export async function createEndpointScopes(
  fastify: FastifyInstance,
  prefix: string,
): Promise<(kind: Kind) => FastifyInstance> {
  const made: { kind: Kind; scope: FastifyInstance }[] = []
  for (const body of ['form', 'json'] as const)
    for (const cors of [false, true]) {
      const kind = { body, cors }
      await fastify.register(
        async (scope) => {
          await furnish(scope, kind)
          made.push({ kind, scope })
        },
        scopeOptions(fastify, prefix),
      )
    }
  return ({ body, cors }) => made.find(({ kind }) => kind.body === body && kind.cors === cors)!.scope
}

async function furnish(scope: FastifyInstance, { body, cors }: Kind): Promise<void> {
  await keepHouseRules(scope)
  if (cors) allowBrowsers(scope)
  if (body === 'form') await acceptForms(scope)
  else acceptJson(scope)
  scope.setErrorHandler(sendError)
}
