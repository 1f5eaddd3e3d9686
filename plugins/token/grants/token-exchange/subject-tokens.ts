/**
 * What a token that is exchanged says, by its type (RFC 8693 §3): whom it stands for, who got it, what for, and what it ends with. Another
 * kind is one more reader here.
 */
import type { FastifyInstance } from 'fastify'
import type { Call } from '../../../../src/doors/back-channel.ts'
import { parentOf } from '../../../../src/doors/parents.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { parseScope } from '../../../../src/protocol/scope.ts'
import { isOfClient } from '../../../../src/services/clients/same-client.ts'
import { createIdTokenReader } from './id-token-reader.ts'
import { ACCESS_TOKEN, NOT_GOOD, refused, type Source, TYPE } from './source.ts'
import { createTrustedJwtReader } from './trusted-jwt-reader.ts'

/** Throws `OAuthError` for what is no good token, whatever is wrong with it. */
export type ReadSubjectToken = (type: string, token: string, call: Call) => Promise<Source>

export function createSubjectTokens(fastify: FastifyInstance): ReadSubjectToken {
  const { oauth } = fastify
  const { refreshTokens } = kernelOf(fastify)

  /** Of somebody's tokens: the user, as `client` knows them. */
  function standing(
    subject: string | undefined,
    claimed: string,
    { client }: Call,
  ): Pick<Source, 'sub' | 'standsFor'> {
    return subject === undefined
      ? { sub: claimed, standsFor: { subjectClient: claimed } }
      : { sub: oauth.subjectOf(subject, client), standsFor: { subject } }
  }

  async function accessToken(token: string, call: Call): Promise<Source | null> {
    const found = await oauth.verify(token)
    if (found === null) return null
    const { claims, authorization } = found
    return {
      ...standing(authorization?.subject, claims.sub, call),
      clientId: claims.client_id,
      scopes: typeof claims['scope'] === 'string' ? parseScope(claims['scope']) : new Set(),
      actor: claims.act,
      mayAct: claims['may_act'],
      cnf: claims.cnf,
      authentication: authorization?.authentication,
      parent: parentOf(found),
      notAfter: claims.exp * 1000,
    }
  }

  /** Nobody but the client that it was given to holds one. It is not used up. */
  async function refreshToken(token: string, call: Call): Promise<Source | null> {
    const found = await refreshTokens.find(token)
    if (found?.use !== 'current') return null
    const { authorization } = found
    const { clientId, createdAt = 0, subject, scopes, actor, binding, authentication } = authorization
    if (subject === undefined || !isOfClient(clientId, createdAt, call.client)) return null
    return {
      ...standing(subject, '', call),
      clientId,
      scopes,
      actor,
      cnf: binding?.cnf,
      authentication,
      parent: parentOf(authorization),
      notAfter: Date.now() + refreshTokens.lifetime(authorization) * 1000,
    }
  }

  const readers: Readonly<Record<string, (token: string, call: Call) => Promise<Source | null>>> = {
    [ACCESS_TOKEN]: accessToken,
    [`${TYPE}refresh_token`]: refreshToken,
    [`${TYPE}id_token`]: createIdTokenReader(fastify),
    [`${TYPE}jwt`]: createTrustedJwtReader(fastify),
  }

  return async (type, token, call) => {
    const reader = Object.hasOwn(readers, type) ? readers[type] : undefined
    if (reader === undefined)
      throw new OAuthError('invalid_request', 'tokens of this type are not exchanged here')
    const source = await reader(token, call)
    if (source === null) throw refused(NOT_GOOD)
    return source
  }
}
