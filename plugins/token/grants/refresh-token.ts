/**
 * The refresh_token grant (RFC 6749 §6): goes on from an Authorization with what it holds, or with less. The issuer
 * replaces the refresh token, and tells a retry from a replay.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Call } from '../../../src/doors/back-channel.ts'
import type { Client } from '../../../src/doors/client.ts'
import type { Authorization } from '../../../src/doors/facts.ts'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { Repeatable } from '../../../src/protocol/parameters.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { OPENID_SCOPES, parseScope } from '../../../src/protocol/scope.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { isOfClient } from '../../../src/services/clients/same-client.ts'
import { holds } from '../../../src/services/tokens/binding.ts'
import type { FoundRefreshToken } from '../../../src/services/tokens/refresh-tokens.ts'

const Parameters = Type.Object({
  refresh_token: Type.String(),
  scope: Type.Optional(Type.String()),
  resource: Type.Optional(Repeatable()),
})

async function refreshToken(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { endReplayed, refreshTokens } = kernelOf(fastify)

  /**
   * One of a public client that was bound later may be shown by who has none of its keys: the client, which knows it from before, or a thief.
   * They are refused before anything is replaced, where it would else be seen that it was used before.
   */
  async function assertHeld(
    token: string,
    { authorization, use }: FoundRefreshToken,
    { client, binding }: Call,
    presentedAt: number,
  ): Promise<void> {
    if (use === 'current' || authorization.binding === undefined || !client.isPublic()) return
    if (holds(binding, authorization.binding)) return
    const by = { authenticated: false, key: 'missing', at: presentedAt } as const
    if ((await refreshTokens.useOf(token, by)) === 'replayed') await endReplayed(authorization)
    throw invalidGrant('the refresh token was used before')
  }

  oauth.registerGrant({
    type: 'refresh_token',
    publicClients: true,
    parameters: Parameters,
    async authorize({ refresh_token, scope, resource = [] }, call) {
      const { client, reply } = call
      const presentedAt = performance.now() - reply.elapsedTime
      const found = await refreshTokens.find(refresh_token)
      if (found === null) throw invalidGrant('the refresh token is not known')
      const { authorization, use } = found
      if (!isOfClient(authorization.clientId, authorization.createdAt!, client))
        throw invalidGrant('the refresh token is not known')
      if (use === 'expired' || use === 'revoked') throw invalidGrant(`the refresh token is ${use}`)
      await assertHeld(refresh_token, found, call, presentedAt)
      return {
        ...authorization,
        scopes: narrow(authorization, scope, client),
        resources: resource,
        refreshable: true,
        continues: { authorization, refreshToken: refresh_token, presentedAt },
      }
    },
  })
}

/**
 * What of the approved scopes is granted now: all that the client may still have, or those of `scope`. One that was
 * asked for at /authorize and dropped there is dropped again; any other is `invalid_scope`.
 */
function narrow(
  authorization: Authorization,
  scope: string | undefined,
  client: Client,
): ReadonlySet<string> {
  const possible = [...authorization.scopes].filter(
    (name) => OPENID_SCOPES.has(name) || client.grantableScopes.has(name),
  )
  if (scope === undefined) return new Set(possible)
  const asked = parseScope(scope)
  const askedBefore = new Set(((authorization.parameters?.['scope'] as string | undefined) ?? '').split(' '))
  for (const name of asked) {
    if (!authorization.scopes.has(name) && !askedBefore.has(name))
      throw new OAuthError('invalid_scope', 'a scope goes beyond what was approved')
  }
  return new Set(possible.filter((name) => asked.has(name)))
}

function invalidGrant(description: string): OAuthError {
  return new OAuthError('invalid_grant', description)
}

export default fp(refreshToken, {
  name: 'latchkey-refresh-token',
  dependencies: ['latchkey-oauth', 'latchkey-token'],
})
