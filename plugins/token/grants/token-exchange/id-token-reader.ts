/**
 * ID tokens of ours as subject tokens. One names no Authorization, only its sign-in: so it is as good as what its client still has of the
 * user from that sign-in, and ends with it.
 */
import type { FastifyInstance } from 'fastify'
import type { Call } from '../../../../src/doors/back-channel.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { isEncrypted } from '../../../../src/protocol/encryption.ts'
import type { AuthorizationInformation } from '../../../../src/services/tokens/authorizations.ts'
import type { IdTokenClaims } from '../../../../src/services/tokens/own-jwt-verifier.ts'
import type { Source } from './source.ts'

export function createIdTokenReader(
  fastify: FastifyInstance,
): (token: string, call: Call) => Promise<Source | null> {
  const { oauth } = fastify
  const { ownJwts } = kernelOf(fastify)

  /** The latest that the client got by this sign-in itself, if it is good still: no ID token came of what it exchanged. */
  async function latestOf({ aud, sub, sid }: IdTokenClaims): Promise<AuthorizationInformation | null> {
    const client = typeof aud === 'string' ? await oauth.findClient(aud) : null
    if (client === null || typeof sid !== 'string') return null
    let latest: AuthorizationInformation | null = null
    let after: string | undefined
    do {
      const page = await oauth.authorizations.listBySession(sid, { after })
      for (const one of page.authorizations)
        if (
          one.clientId === aud &&
          !one.derived &&
          oauth.subjectOf(one.userId, client) === sub &&
          (latest === null || one.createdAt >= latest.createdAt)
        )
          latest = one
      after = page.next ?? undefined
    } while (after !== undefined)
    return latest
  }

  return async (token, { client }) => {
    if (isEncrypted(token)) return null
    const claims = await ownJwts.verifyIdToken(token)
    const authorization = claims === null ? null : await latestOf(claims)
    // Which key it began with is not known here.
    if (claims === null || authorization === null || authorization.bound) return null
    const { id, clientId, userId, createdAt } = authorization
    return {
      clientId,
      sub: oauth.subjectOf(userId, client),
      standsFor: { subject: userId },
      scopes: new Set(authorization.scopes),
      authentication: {
        time: Number(claims['auth_time'] ?? claims.iat) * 1000,
        amr: (claims['amr'] as readonly string[] | undefined) ?? [],
        sid: String(claims['sid']),
        ...(typeof claims['acr'] === 'string' ? { acr: claims['acr'] } : {}),
      },
      parent: { clientId, since: createdAt, authorization: id },
      notAfter: claims.exp * 1000,
    }
  }
}
