/**
 * Authorization responses as signed JWTs (JARM) for Latchkey: answers and errors alike leave as one `response`, in the query, behind
 * `#` or in a form that sends itself. So who carries them can neither change them nor take them for another client's.
 */
import type { FastifyInstance } from 'fastify'
import { OAuthError, Type, type AnsweredRequest, type ResponseMode } from 'latchkey'

const ALGORITHM = 'authorization_signed_response_alg'
/** Seconds in which a client must have read it. */
const LIFETIME = 600

export default async function jarm({ oauth }: FastifyInstance): Promise<void> {
  oauth.extendClientMetadata(Type.Object({ [ALGORITHM]: Type.Optional(Type.String()) }), async (metadata) => {
    const algorithm = metadata[ALGORITHM]
    if (algorithm === undefined) return
    if (!oauth.keys.algorithms.includes(String(algorithm)))
      throw new OAuthError('invalid_client_metadata', `${ALGORITHM} names what is not offered`)
    // Before it signs anything: who verifies it then finds the key.
    await oauth.keys.provide(String(algorithm))
  })
  oauth.extend('metadata', async () => ({
    authorization_signing_alg_values_supported: oauth.keys.algorithms,
  }))

  /** The JWT goes by a mode of the server's own. */
  const signed = (inQuery: boolean, modeOf: (request: AnsweredRequest) => string): ResponseMode => ({
    inQuery,
    async send(reply, request, answer) {
      const { clientId, metadata } = request.client
      const claims = { ...answer, aud: clientId, exp: Math.floor(Date.now() / 1000) + LIFETIME }
      const algorithm = String(metadata[ALGORITHM] ?? 'RS256')
      const response = await oauth.signStatement(claims, { typ: 'authorization-response+jwt', algorithm })
      return oauth.owners('responseMode').get(modeOf(request))!.send(reply, request, { response })
    },
  })
  const defaultOf = ({ responseType = '' }: AnsweredRequest): string =>
    oauth.owners('responseType').get(responseType)?.defaultMode ?? 'query'

  oauth.register('responseMode', 'jwt', signed(false, defaultOf))
  oauth.register(
    'responseMode',
    'query.jwt',
    signed(true, () => 'query'),
  )
  oauth.register(
    'responseMode',
    'fragment.jwt',
    signed(false, () => 'fragment'),
  )
  oauth.register(
    'responseMode',
    'form_post.jwt',
    signed(false, () => 'form_post'),
  )
}
