/** Token introspection (RFC 7662): whether a token is good, for those who may know. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Client } from '../src/doors/client.ts'
import type { Verified } from '../src/doors/facts.ts'
import type { Bag } from '../src/protocol/bag.ts'
import { Type } from '../src/protocol/schema.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import { TOKEN_INTROSPECTION } from '../src/services/clients/served-client.ts'
import { BEARER, schemeOfAll } from './require-scope/schemes.ts'
import { confirmedBy } from './require-scope/sender-constraint.ts'

const INACTIVE = Object.freeze({ active: false })

async function introspection(fastify: FastifyInstance): Promise<void> {
  const { log, oauth } = fastify
  const { config, doors } = kernelOf(fastify)
  const validateAudienceScope = config.OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE

  /**
   * Of the person whom the token stands for, from memory mostly. A client that knows people by a pseudonym is told the name
   * only where this token may see the profile: the two together would be no pseudonym (OpenID Connect Core §8.1).
   */
  async function usernameOf({ claims, authorization }: Verified): Promise<string | undefined> {
    const subject = authorization?.subject
    if (subject === undefined) return undefined
    if (claims['sub'] !== subject && !showsProfile(claims)) return undefined
    return (await oauth.findUser(subject))?.username
  }

  /** Left out for a token that is bound in a way that is not known here any more. */
  function typeOf({ cnf }: Verified['claims']): string | undefined {
    if (cnf === undefined) return BEARER
    const bound = confirmedBy(cnf, doors.all('senderConstraint'))
    return bound && schemeOfAll(bound.map(([constraint]) => constraint))
  }

  oauth.registerEndpoint({
    path: '/introspect',
    metadata: 'introspection_endpoint',
    parameters: Type.Object({ token: Type.Optional(Type.String()) }),
    async handle({ token }, call) {
      const verified = token === undefined ? null : await oauth.verify(token)
      const hidden = whyHidden(call.client, verified, validateAudienceScope)
      if (hidden !== undefined || verified === null) {
        log.debug({ client_id: call.client.clientId, reason: hidden }, 'introspection told a token inactive')
        return INACTIVE
      }
      return doors.withContributions(
        'introspection',
        verified,
        response(verified, await usernameOf(verified), typeOf(verified.claims)),
        call,
      )
    },
  })
}

/**
 * Why this caller may not know, in words for our log; undefined where it may. The rules of OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE, top to
 * bottom: a token that a client got for itself is hidden while the setting is on; its own client may know; anybody else needs the right or
 * must be the resource, and, while the setting is on, must name the token's client in its scope list.
 */
function whyHidden(
  caller: Client,
  verified: Verified | null,
  validateAudienceScope: boolean,
): string | undefined {
  if (verified === null) return 'it is unknown, expired, revoked or of another issuer'
  const { claims, authorization } = verified
  const clientId = claims.client_id
  if (validateAudienceScope && authorization === undefined)
    return 'a client got it for itself, and OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE is true'
  if (caller.clientId === clientId) return undefined
  if (!caller.scope.includes(TOKEN_INTROSPECTION) && !isAudience(caller, claims['aud']))
    return `it is of another client, for another audience, and the scope of who asks lacks ${TOKEN_INTROSPECTION}`
  return !validateAudienceScope || caller.scope.includes(clientId)
    ? undefined
    : 'the scope of who asks does not name its client, and OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE is true'
}

function isAudience({ clientId }: Client, audience: unknown): boolean {
  return Array.isArray(audience) ? audience.includes(clientId) : audience === clientId
}

/** By its own scope, which may be less than was approved (RFC 6749 §6). */
function showsProfile({ scope }: Bag): boolean {
  return typeof scope === 'string' && scope.split(' ').includes('profile')
}

/** RFC 7662 §2.2, RFC 9470 §6.2. */
function response({ claims }: Verified, username: string | undefined, token_type: string | undefined): Bag {
  const { scope, client_id, exp, iat, sub, aud, iss, jti, act, cnf, acr, auth_time } = claims
  return {
    active: true, scope, client_id, username, token_type, exp, iat, sub, aud, iss, jti, act, cnf, acr, auth_time,
  } // prettier-ignore
}

export default fp(introspection, { name: 'latchkey-introspection', dependencies: ['latchkey-oauth'] })
