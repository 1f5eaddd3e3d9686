/**
 * The algorithms that a client may want its ID tokens and userinfo responses signed with (OpenID Connect Registration
 * §2). A key for the one it names is there before its first token needs it, so that every process publishes it.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { metadataError } from '../src/protocol/client-metadata.ts'
import { Type } from '../src/protocol/schema.ts'

const MEMBERS = ['id_token_signed_response_alg', 'userinfo_signed_response_alg'] as const

async function signingAlgorithms({ oauth, log }: FastifyInstance): Promise<void> {
  const { keys } = oauth
  oauth.extendClientMetadata(Type.Object({}), (metadata) => {
    for (const member of MEMBERS) {
      const algorithm = metadata[member] as string | undefined
      if (algorithm === undefined) continue
      if (!keys.algorithms.includes(algorithm))
        throw metadataError(member, `must be one of ${keys.algorithms.join(', ')}`)
      // If it cannot be made now, the first signature tries again.
      keys
        .provide(algorithm)
        .catch((error: unknown) => log.warn({ err: error, algorithm }, 'no signing key yet'))
    }
  })
}

export default fp(signingAlgorithms, {
  name: 'latchkey-signing-algorithms',
  dependencies: ['latchkey-oauth'],
})
