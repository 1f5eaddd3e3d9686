/** Signed authentication requests (CIBA §7.1.1): all that a client asks is in a JWT, and nothing beside it. */
import type { FastifyInstance } from 'fastify'
import type { Client } from '../../../../src/doors/client.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import type { Bag } from '../../../../src/protocol/bag.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { assertLengths } from '../../../../src/protocol/parameters.ts'
import { parametersIn } from '../../../../src/protocol/request-object.ts'
import { assertBounded, CLOCK_SKEW, JwtError } from '../../../../src/protocol/signed-jwt.ts'
import type { Wire } from '../../../../src/protocol/wire.ts'

/** The parameters of a request, whether they are signed or not. Throws `OAuthError`. */
export type OpenSigned = (wire: Wire, client: Client) => Promise<Wire>

const KIND = 'ciba-request'
/** Seconds from `nbf` to `exp` (FAPI-CIBA §5.2.2). */
const LONGEST = 3600
/** What says who calls may stand beside the JWT. */
const BESIDE = new Set(['request', 'client_id'])

export function createSignedRequests(fastify: FastifyInstance): OpenSigned {
  const { oauth } = fastify
  const { doors } = kernelOf(fastify)

  async function claimsOf(jwt: string, client: Client, algorithm: string): Promise<Bag> {
    const demands = doors.all('requestObjectRule').map(({ narrow }) => narrow(client) ?? {})
    const isTaken = demands.every(({ algorithms: only }) => only?.includes(algorithm) ?? true)
    const claims = await oauth.clientKeys.verify(client, jwt, {
      algorithms: isTaken ? [algorithm] : [],
      types: [undefined, 'jwt', 'oauth-authz-req+jwt'],
      audiences: [oauth.issuer],
      shared: true,
      required: ['exp', 'iat', 'nbf', 'jti'],
      longest: LONGEST,
    })
    assertBounded(claims, LONGEST)
    // RFC 9101 §10.8: what proves who a client is must not be taken for what it asks.
    if (claims['sub'] === client.clientId) throw new JwtError('its sub is the client')
    const { jti, exp } = claims
    const until = new Date((Number(exp) + CLOCK_SKEW) * 1000)
    if (!(await oauth.once(KIND, `${client.clientId} ${String(jti)}`, until)))
      throw new JwtError('it was used before')
    return claims
  }

  return async (wire, client) => {
    const algorithm = client.metadata['backchannel_authentication_request_signing_alg']
    const { request } = wire
    if (request === undefined && algorithm === undefined) return wire
    if (request === undefined) throw new OAuthError('invalid_request', 'the request must be signed')
    if (typeof algorithm !== 'string')
      throw new OAuthError(
        'invalid_request',
        'the client has registered no backchannel_authentication_request_signing_alg',
      )
    if (Object.keys(wire).some((name) => !BESIDE.has(name)))
      throw new OAuthError('invalid_request', 'a signed request has no parameters beside it')
    try {
      const signed = parametersIn(await claimsOf(String(request), client, algorithm))
      if (signed['request'] !== undefined) throw new JwtError('it leads to another request')
      assertLengths(signed)
      return signed
    } catch (error) {
      if (!(error instanceof JwtError)) throw error
      throw new OAuthError('invalid_request', `the signed request is not good: ${error.message}`, {
        cause: error,
      })
    }
  }
}
