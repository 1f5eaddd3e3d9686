/**
 * The algorithms that a client may want its ID tokens and userinfo responses signed with (OpenID Connect Registration
 * §2). A key for the one it names is there before its first token needs it, so that every process publishes it.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Type } from '../src/protocol/schema.ts'
import { provideFor } from '../src/services/clients/registered-algorithms.ts'

const MEMBERS = ['id_token_signed_response_alg', 'userinfo_signed_response_alg'] as const

async function signingAlgorithms({ oauth, log }: FastifyInstance): Promise<void> {
  oauth.extendClientMetadata(Type.Object({}), (metadata) => {
    for (const member of MEMBERS) provideFor(metadata, member, { keys: oauth.keys, log })
  })
}

export default fp(signingAlgorithms, {
  name: 'latchkey-signing-algorithms',
  dependencies: ['latchkey-oauth'],
})
