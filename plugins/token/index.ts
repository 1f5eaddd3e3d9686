/**
 * The token endpoint (RFC 6749 §3.2). The shared phases are here, in their order; a grant answers only what is its
 * own. Before: the form is parsed and the client authenticated (`endpoint.ts`). After: `issue` mints and stores.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { isAnswer } from '../../src/doors/answer.ts'
import type { Client } from '../../src/doors/client.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { RegisteredGrant } from '../../src/doors/registry.ts'
import type { SenderConstraint } from '../../src/doors/sender-constraint.ts'
import { servedGrantTypes } from '../../src/services/clients/served-grant-types.ts'
import { assertAskedKey, bindingOf, boundTo } from '../../src/services/tokens/binding.ts'

async function token(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { doors, requestParameters } = kernelOf(fastify)
  const { grants } = doors
  let constraints: readonly SenderConstraint[] = []
  fastify.addHook('onReady', async () => {
    constraints = doors.all('senderConstraint')
  })

  oauth.registerEndpoint({
    path: '/token',
    metadata: 'token_endpoint',
    publicClients: true,
    cors: true,
    parameters: Type.Object({ grant_type: Type.String() }),
    async handle({ grant_type }, call) {
      const grant = findGrant(grants, grant_type)
      assertMayUse(call.client, grant)
      const binding = constraints.length === 0 ? undefined : await bindingOf(constraints, call)
      const granted = await grant.authorize(call.wire, binding === undefined ? call : { ...call, binding })
      if (isAnswer(granted)) return granted
      assertAskedKey(granted, binding, constraints)
      const narrowed = await requestParameters.narrow(granted, call)
      return oauth.issue(boundTo(narrowed, binding, call.client), call)
    },
  })
  oauth.extend('metadata', async () => ({
    grant_types_supported: [...servedGrantTypes(doors)],
    ...Object.assign({}, ...doors.all('senderConstraint').map(({ metadata }) => metadata)),
  }))
}

function findGrant(grants: ReadonlyMap<string, RegisteredGrant>, type: string): RegisteredGrant {
  const grant = grants.get(type)
  if (grant === undefined) throw new OAuthError('unsupported_grant_type', 'no such grant is served here')
  return grant
}

/** RFC 6749 §5.2 `unauthorized_client`. */
function assertMayUse(client: Client, grant: RegisteredGrant): void {
  if (!client.grantTypes.has(grant.type) || (client.isPublic() && !grant.publicClients)) {
    throw new OAuthError('unauthorized_client', 'the client is not registered for this grant')
  }
}

export default fp(token, { name: 'latchkey-token', dependencies: ['latchkey-oauth'] })
