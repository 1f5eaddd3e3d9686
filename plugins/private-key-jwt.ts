/**
 * private_key_jwt (RFC 7523 §2.2, OpenID Connect Core §9): a client proves who it is by a JWT that it signs with a key of its
 * `jwks` or `jwks_uri`. Each is good for one request, at whichever process.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Client } from '../src/doors/client.ts'
import { metadataError } from '../src/protocol/client-metadata.ts'
import { SIGNATURE_ALGORITHMS } from '../src/protocol/jwk-set.ts'
import { Type } from '../src/protocol/schema.ts'
import { CLOCK_SKEW, decodeSignedJwt, JwtError } from '../src/protocol/signed-jwt.ts'
import type { Wire } from '../src/protocol/wire.ts'
import type { OAuth } from './oauth.ts'

const METHOD = 'private_key_jwt'
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
/** Seconds: how far ahead an assertion may end. */
const LONGEST = 3600

async function privateKeyJwt({ oauth }: FastifyInstance): Promise<void> {
  oauth.extendClientMetadata(
    Type.Object({}),
    ({ token_endpoint_auth_method: method, jwks, jwks_uri: uri }) => {
      if (method === METHOD && jwks === undefined && uri === undefined)
        throw metadataError('token_endpoint_auth_method', `${METHOD} needs jwks or jwks_uri`)
    },
  )
  oauth.register('clientAuthentication', METHOD, {
    credentials: ['client_assertion', 'client_assertion_type'],
    algorithms: SIGNATURE_ALGORITHMS,
    recognizes: (_request, wire) =>
      wire['client_assertion_type'] === ASSERTION_TYPE ? claimedBy(wire) : null,
    authenticate: async (request, wire, client) =>
      client !== null && (await proves(oauth, request, wire, client)),
  })
}

/** By what it says of itself, which nobody has checked yet. */
function claimedBy({ client_assertion: assertion, client_id: named }: Wire): string[] {
  try {
    const { sub } = decodeSignedJwt(String(assertion)).claims
    return typeof sub !== 'string' || sub === '' || (named !== undefined && named !== sub) ? [] : [sub]
  } catch (error) {
    if (error instanceof JwtError) return []
    throw error
  }
}

/** The issuer (draft-ietf-oauth-rfc7523bis), and the token endpoint as OpenID Connect Core §9 has it. */
function audiencesOf({ issuer, endpoints }: OAuth): string[] {
  const token = endpoints().filter(({ metadata }) => metadata === 'token_endpoint')
  return [issuer, ...token.map(({ path }) => issuer + path)]
}

async function proves(oauth: OAuth, request: FastifyRequest, wire: Wire, client: Client): Promise<boolean> {
  const { token_endpoint_auth_signing_alg: registered } = client.metadata
  try {
    const { jti, exp } = await oauth.clientKeys.verify(client, String(wire['client_assertion']), {
      algorithms: typeof registered === 'string' ? [registered] : undefined,
      types: [undefined, 'jwt', 'client-authentication+jwt'],
      subject: client.clientId,
      audiences: audiencesOf(oauth),
      required: ['sub', 'exp', 'jti'],
      longest: LONGEST,
    })
    const until = new Date((Number(exp) + CLOCK_SKEW) * 1000)
    if (await oauth.once(METHOD, `${client.clientId} ${String(jti)}`, until)) return true
    throw new JwtError('it was used before')
  } catch (error) {
    if (!(error instanceof JwtError)) throw error
    request.log.warn(
      { client: client.clientId, method: METHOD, reason: error.message },
      'refused: a client assertion is not good',
    )
    return false
  }
}

export default fp(privateKeyJwt, { name: 'latchkey-private-key-jwt', dependencies: ['latchkey-oauth'] })
