/** The client_credentials grant (RFC 6749 §4.4): a client acts for itself, within its registered scope list. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { Repeatable } from '../../../src/protocol/parameters.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { parseScope } from '../../../src/protocol/scope.ts'

async function clientCredentials(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { requestParameters } = kernelOf(fastify)
  oauth.registerGrant({
    type: 'client_credentials',
    parameters: Type.Object({ scope: Type.Optional(Type.String()), resource: Type.Optional(Repeatable()) }),
    async authorize({ scope, resource = [] }, { client, wire }) {
      const registered = client.grantableScopes
      const parameters = await requestParameters.forItself(wire, client)
      const asksBeside = Object.keys(parameters).length > 0
      const usual = asksBeside ? new Set<string>() : registered
      const scopes = scope === undefined ? usual : parseScope(scope)
      if (scopes.size === 0 && !asksBeside)
        throw new OAuthError('invalid_scope', 'no scope is registered for the client')
      for (const name of scopes) {
        if (!registered.has(name))
          throw new OAuthError('invalid_scope', 'the client is not registered for a scope that it asks for')
      }
      return { scopes, resources: resource, parameters }
    },
  })
}

export default fp(clientCredentials, {
  name: 'latchkey-client-credentials',
  dependencies: ['latchkey-oauth', 'latchkey-token'],
})
