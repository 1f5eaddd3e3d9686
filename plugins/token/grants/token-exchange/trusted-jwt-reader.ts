/**
 * JWTs of trusted issuers that are exchanged (RFC 8693 §3): good where a rule of the client names their issuer, for no more than that may
 * give, and until it is trusted no more.
 */
import type { FastifyInstance } from 'fastify'
import type { Call } from '../../../../src/doors/back-channel.ts'
import type { Client } from '../../../../src/doors/client.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { isObject } from '../../../../src/protocol/json.ts'
import { JwtError } from '../../../../src/protocol/signed-jwt.ts'
import { PLAIN_TYPES } from '../../../../src/services/trusted-issuers/assertions.ts'
import { assertMayUse, parentOfAssertion } from '../../../../src/services/trusted-issuers/asserted.ts'
import { rulesOf } from './policy.ts'
import { refused, type Source } from './source.ts'

/** Throws `OAuthError` that says what is wrong; null where no rule of the client names who signed it. */
export function createTrustedJwtReader(
  fastify: FastifyInstance,
): (jwt: string, call: Call) => Promise<Source | null> {
  const { oauth } = fastify
  const { assertions, findMapped } = kernelOf(fastify)

  async function read(jwt: string, call: Call): Promise<Source | null> {
    const assertion = await assertions.read(jwt, { types: PLAIN_TYPES })
    const { client } = call
    const { from, claims, spend } = assertion
    if (!isNamed(client, from.issuer)) return null
    assertMayUse(assertion, call)
    const { may_act: mayAct, cnf, exp } = claims
    const mapped = await findMapped(from, claims)
    const subject = mapped === 'client' ? undefined : mapped.user.id
    return {
      issuer: from.issuer,
      sub: subject === undefined ? client.clientId : oauth.subjectOf(subject, client),
      standsFor: subject === undefined ? {} : { subject },
      scopes: new Set(from.scopes),
      most: { scopes: new Set(from.scopes), resources: from.resources },
      mayAct,
      cnf: isObject(cnf) ? cnf : undefined,
      parent: parentOfAssertion(from, mapped, client),
      notAfter: Number(exp) * 1000,
      spend,
    }
  }

  return async (jwt, call) => {
    try {
      return await read(jwt, call)
    } catch (error) {
      throw error instanceof JwtError ? refused(error.message) : error
    }
  }
}

function isNamed(client: Client, issuer: string): boolean {
  return rulesOf(client).some(({ subject_issuers: subjects = [], actor_issuers: actors = [] }) =>
    [...subjects, ...actors].includes(issuer),
  )
}
