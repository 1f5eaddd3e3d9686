/**
 * Clients that prove who they are by a JWT (RFC 7521 §4.2, RFC 7523 §2.2): what one must say, whoever it is of, and that it is
 * good once, over all processes. With which key it was made is for the method to judge.
 */
import type { FastifyInstance } from 'fastify'
import type { Client, ClientAuthentication } from '../../src/doors/client.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { mtlsOriginOf } from '../../src/http/mtls-origin.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { invalidClient } from '../../src/protocol/invalid-client.ts'
import {
  assertClaims,
  CLOCK_SKEW,
  decodeSignedJwt,
  JwtError,
  type UnverifiedJwt,
} from '../../src/protocol/signed-jwt.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { ExpectedJwt } from '../../src/services/clients/client-keys.ts'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
/** Seconds: how far ahead an assertion may end. */
const LONGEST = 3600
/** By their members of the metadata: OpenID Connect Core §9, RFC 9126 §2 and CIBA Core 1.0 §7.1. */
const AUDIENCES = new Set([
  'token_endpoint',
  'pushed_authorization_request_endpoint',
  'backchannel_authentication_endpoint',
])
const REFUSED = 'refused: a client assertion is not good'

export interface AssertionMethod {
  /** The `token_endpoint_auth_method`. */
  readonly method: string
  /** The JWS algorithms that it takes. */
  readonly algorithms: readonly string[]
  /** The claims of an assertion that the client has made; the same work with null. Throws `JwtError`. */
  verify(client: Client | null, jwt: string, expected: ExpectedJwt): Promise<Bag>
}

/** What is read of each request, once for all methods. */
const read = new WeakMap<Wire, UnverifiedJwt>()

export function createAssertionMethod(
  fastify: FastifyInstance,
  { method, algorithms, verify }: AssertionMethod,
): ClientAuthentication {
  const { oauth } = fastify
  const { doors, assertions } = kernelOf(fastify)
  let audiences: readonly string[] | undefined

  /**
   * The issuer (draft-ietf-oauth-rfc7523bis), and those endpoints of `AUDIENCES` that are here, also where TLS asks for a certificate: with
   * and without a slash at the end, as they are served.
   */
  function audiencesHere(): string[] {
    const named = oauth.endpoints().filter(({ metadata }) => AUDIENCES.has(metadata))
    const origin = mtlsOriginOf(fastify)
    const bases = [oauth.issuer, ...(origin === undefined ? [] : [origin + oauth.config.basePath])]
    const paths = named.flatMap(({ path }) => [path, `${path}/`])
    return [oauth.issuer, ...paths.flatMap((path) => bases.map((base) => base + path))]
  }

  /** As every client's must be. */
  function expectedOf(clientId: string): ExpectedJwt & { issuer: string } {
    return {
      types: [undefined, 'jwt', 'client-authentication+jwt'],
      issuer: clientId,
      subject: clientId,
      audiences: (audiences ??= audiencesHere()),
      required: ['sub', 'exp', 'jti'],
      longest: LONGEST,
    }
  }

  /** As this client's must be: by what it has registered, and by the rules that it is held to. */
  function narrowedFor(client: Client | null, expected: ExpectedJwt): ExpectedJwt {
    const registered = client?.metadata['token_endpoint_auth_signing_alg']
    const demands =
      client === null ? [] : doors.all('assertionRule').map(({ narrow }) => narrow(client) ?? {})
    const takes = (algorithm: string): boolean =>
      (typeof registered !== 'string' || algorithm === registered) &&
      demands.every(({ algorithms: only = algorithms }) => only.includes(algorithm))
    const issuerAlone = demands.some((demand) => demand.issuerAlone === true)
    return {
      ...expected,
      algorithms: algorithms.filter(takes),
      ...(issuerAlone ? { audiences: [oauth.issuer], single: true } : {}),
    }
  }

  /** By what it says of itself, which nobody has checked yet. Throws `JwtError` for what no key could make good. */
  function claimedBy({ client_id: named }: Wire, unverified: UnverifiedJwt): string {
    const { iss, sub } = unverified.claims
    if (typeof sub !== 'string' || sub === '') throw new JwtError('its sub is no client_id')
    if (named !== undefined && named !== sub)
      throw new JwtError(
        // As of a workload, whose platform nobody has registered.
        typeof iss === 'string' && iss !== sub && iss !== named
          ? 'its iss is not trusted here'
          : 'its sub is another than the client_id',
      )
    assertClaims(unverified, { ...expectedOf(sub), now: Date.now() })
    return sub
  }

  return {
    credentials: ['client_assertion', 'client_assertion_type'],
    algorithms,
    recognizes(_request, wire) {
      if (wire['client_assertion_type'] !== ASSERTION_TYPE) return null
      try {
        const unverified = read.get(wire) ?? decodeSignedJwt(String(wire['client_assertion']))
        read.set(wire, unverified)
        // A workload's, which names its client beside it (`federated-jwt.ts`).
        if (isOfAnother(unverified) && assertions.issuerNamedIn(String(wire['client_assertion'])) !== null)
          return null
        return [claimedBy(wire, unverified)]
      } catch (error) {
        if (!(error instanceof JwtError)) throw error
        throw invalidClient(oauth.issuer, `the client_assertion is not good: ${error.message}`)
      }
    },
    async authenticate(request, wire, client, claimed) {
      try {
        const expected = narrowedFor(client, expectedOf(claimed))
        const { jti, exp } = await verify(client, String(wire['client_assertion']), expected)
        const until = new Date((Number(exp) + CLOCK_SKEW) * 1000)
        if (await oauth.once(method, `${claimed} ${String(jti)}`, until)) return true
        throw new JwtError('it was used before')
      } catch (error) {
        if (!(error instanceof JwtError)) throw error
        request.log.warn({ client: client?.clientId, method, reason: error.message }, REFUSED)
        return false
      }
    },
  }
}

function isOfAnother({ claims: { iss, sub } }: UnverifiedJwt): boolean {
  return iss !== sub
}
