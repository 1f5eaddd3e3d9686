/**
 * Introspection responses as JWTs (RFC 9701), for APIs that ask for them by what they accept: signed, so that they can show later
 * what they were told, and encrypted for who is registered so.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { RepresentedCall } from '../src/doors/representation.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import {
  assertEncryptable,
  encryptionMembers,
  encryptionMetadata,
  encryptionOf,
} from '../src/protocol/encryption.ts'
import { Type } from '../src/protocol/schema.ts'
import { provideFor } from '../src/services/clients/registered-algorithms.ts'

const PATH = '/introspect'
const JWT = 'token-introspection+jwt'
const ALGORITHM = 'introspection_signed_response_alg'
/** §6. */
const DEFAULT_ALGORITHM = 'RS256'

async function jwtIntrospection(fastify: FastifyInstance): Promise<void> {
  // Nothing is said in another form that is not said.
  if (!fastify.hasPlugin('latchkey-introspection')) return
  const { oauth, log } = fastify
  const { clientEncryption } = kernelOf(fastify)

  const member = Type.Partial(Type.Object({ [ALGORITHM]: Type.String({ maxLength: 200, open: true }) }))
  oauth.extendClientMetadata(member, (metadata) => provideFor(metadata, ALGORITHM, { keys: oauth.keys, log }))
  oauth.extendClientMetadata(encryptionMembers('introspection'), (metadata) =>
    assertEncryptable(metadata, 'introspection'),
  )
  oauth.extend('metadata', async () => ({
    introspection_signing_alg_values_supported: oauth.keys.algorithms,
    ...encryptionMetadata('introspection'),
  }))

  oauth.add('representation', {
    name: 'introspection_jwt',
    of: PATH,
    applies: acceptsJwt,
    /** §5: for the API that asks, and with none of the claims by which it could pass for an access token. */
    async render({ body }, { client }) {
      const { clientId, metadata } = client!
      const claims = { aud: clientId, iat: Math.floor(Date.now() / 1000), token_introspection: body }
      const algorithm = (metadata[ALGORITHM] as string | undefined) ?? DEFAULT_ALGORITHM
      const jwt = await oauth.signStatement(claims, { typ: JWT, algorithm })
      const encryption = encryptionOf(metadata, 'introspection')
      const text =
        encryption === undefined
          ? jwt
          : await clientEncryption.encryptTo(client!, jwt, { ...encryption, cty: 'JWT', typ: JWT })
      return { text, type: `application/${JWT}` }
    },
  })
}

/** By its name alone: who takes anything gets JSON (RFC 9110 §12.5.1). */
function acceptsJwt({ request }: RepresentedCall): boolean {
  const { accept } = request.headers
  if (accept === undefined || !accept.includes('+')) return false
  return accept.split(',').some((range) => {
    const [type, ...parameters] = range.split(';').map((one) => one.trim().toLowerCase())
    return type === `application/${JWT}` && !parameters.some((one) => /^q=0(?:\.0*)?$/.test(one))
  })
}

export default fp(jwtIntrospection, { name: 'latchkey-jwt-introspection', dependencies: ['latchkey-oauth'] })
