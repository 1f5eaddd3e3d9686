/**
 * JWTs of trusted issuers as grants (RFC 7523 §2.1), and ID-JAGs among them (draft-ietf-oauth-identity-assertion-authz-grant §4.4): a client
 * shows what an issuer that is registered here says of somebody, and gets a token for whom that is here, as far as both may.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Call } from '../../../../src/doors/back-channel.ts'
import type { Client } from '../../../../src/doors/client.ts'
import type { Granted, Spend } from '../../../../src/doors/facts.ts'
import type { NewEvent } from '../../../../src/events.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { ID_JAG_PROFILE, ID_JAG_TYPE } from '../../../../src/protocol/id-jag.ts'
import { Repeatable } from '../../../../src/protocol/parameters.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { JwtError } from '../../../../src/protocol/signed-jwt.ts'
import { type Assertion, PLAIN_TYPES } from '../../../../src/services/trusted-issuers/assertions.ts'
import { assertMayUse, parentOfAssertion } from '../../../../src/services/trusted-issuers/asserted.ts'
import { createLimits } from './limits.ts'

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

async function jwtBearer(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { assertions, findMapped, audiences, trustedIssuers } = kernelOf(fastify)
  const limit = createLimits(audiences)

  /** An ID-JAG is for us alone and for this client, and names what else it is for; what has no such type is for whoever may use it. */
  async function read(jwt: string, call: Call): Promise<Assertion> {
    const found = await assertions.read(jwt, { types: [...PLAIN_TYPES, ID_JAG_TYPE] })
    const { claims, typ } = found
    if (typ === ID_JAG_TYPE) {
      if (claims['aud'] !== oauth.issuer) throw new JwtError('its aud is not the issuer of this server')
      if (claims['client_id'] !== call.client.clientId) throw new JwtError('its client_id is another client')
      const missing = ['jti', 'iat'].find((name) => claims[name] === undefined)
      if (missing !== undefined) throw new JwtError(`it has no ${missing}`)
      // It would give more than it says.
      if (claims['authorization_details'] !== undefined)
        throw new JwtError('its authorization_details are not taken here')
    }
    assertMayUse(found, call)
    return found
  }

  /** One that is registered; what a stranger names is nobody's to read. */
  function issuerNamedIn(jwt: string): string | undefined {
    try {
      return assertions.issuerNamedIn(jwt) ?? undefined
    } catch (error) {
      if (!(error instanceof JwtError)) throw error
      return undefined
    }
  }

  async function grant(
    jwt: string,
    sent: { scope?: string; resource?: readonly string[] },
    call: Call,
  ): Promise<Granted> {
    const { client } = call
    const assertion = await read(jwt, call)
    const { from, claims, typ, spend } = assertion
    const mapped = await findMapped(from, claims)
    const allowed = await limit(client, from, typ === ID_JAG_TYPE ? claims : {}, sent)
    return {
      ...(mapped === 'client' ? {} : { subject: mapped.user.id }),
      ...allowed,
      refreshable: false,
      ...(spend === undefined ? {} : { spends: [{ ...spend, ...usedBefore(from.issuer, client) }] }),
      staysBound: Object.keys(claims['cnf'] ?? {}),
      parent: parentOfAssertion(from, mapped, client),
    }
  }

  oauth.registerGrant({
    type: GRANT_TYPE,
    parameters: Type.Object({
      assertion: Type.String(),
      scope: Type.Optional(Type.String()),
      resource: Type.Optional(Repeatable()),
    }),
    async authorize({ assertion, ...sent }, call) {
      try {
        return await grant(assertion, sent, call)
      } catch (error) {
        if (!(error instanceof JwtError)) throw error
        oauth.audit.observe(refusedEvent(error.message, call.client, issuerNamedIn(assertion)))
        throw refusalOf(error.message, error)
      }
    },
  })
  // Read before anybody waits for a token.
  fastify.addHook('onReady', async () => {
    await trustedIssuers.trusted()
  })
  // IANA does not know the member yet, and what checks documents warns of it: only who has someone to trust says it, from the next start on.
  oauth.extend('metadata', async () => {
    const issuers = await trustedIssuers.trusted()
    return issuers.length === 0 ? {} : { authorization_grant_profiles_supported: [ID_JAG_PROFILE] }
  })
}

/** Told where it is spent, which is behind the grant. */
function usedBefore(issuer: string, client: Client): Required<Pick<Spend, 'refusal' | 'refused'>> {
  const reason = 'it was used before'
  return { refusal: refusalOf(reason), refused: refusedEvent(reason, client, issuer) }
}

function refusalOf(reason: string, cause?: JwtError): OAuthError {
  return new OAuthError('invalid_grant', `the assertion is not good: ${reason}`, { cause })
}

function refusedEvent(reason: string, { clientId }: Client, issuer: string | undefined): NewEvent {
  const details = issuer === undefined ? { reason } : { reason, issuer }
  return { type: 'token.assertion_refused', client: clientId, details }
}

export default fp(jwtBearer, { name: 'latchkey-jwt-bearer', dependencies: ['latchkey-token'] })
