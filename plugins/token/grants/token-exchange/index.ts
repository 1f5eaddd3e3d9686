/**
 * Token exchange (RFC 8693): a client that holds a token of somebody's gets one of its own for another API, as far as its registration
 * allows. What it gets is no more than that, ends with what it was exchanged for, and says who acts.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Call } from '../../../../src/doors/back-channel.ts'
import type { Answer } from '../../../../src/doors/answer.ts'
import type { Client } from '../../../../src/doors/client.ts'
import type { Granted, Spend } from '../../../../src/doors/facts.ts'
import type { NewEvent } from '../../../../src/events.ts'
import type { Actor } from '../../../../src/protocol/facts.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { ID_JAG } from '../../../../src/protocol/id-jag.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { Repeatable } from '../../../../src/protocol/parameters.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { parseScope } from '../../../../src/protocol/scope.ts'
import { actorsOf, assertMayAct, assertShortEnough, behind } from './actors.ts'
import { assertHeld } from './holder.ts'
import { statements } from '../../../../src/store/clients.ts'
import { createPolicy } from './policy.ts'
import { ACCESS_TOKEN, refused, type Source } from './source.ts'
import { createSubjectTokens } from './subject-tokens.ts'
import { createVouch } from './id-jag.ts'
import { assertVouchingRules } from './vouching-rules.ts'

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** RFC 8693 §2.1. */
const Parameters = Type.Object({
  subject_token: Type.String(),
  subject_token_type: Type.String(),
  actor_token: Type.Optional(Type.String()),
  actor_token_type: Type.Optional(Type.String()),
  requested_token_type: Type.Optional(Type.String()),
  scope: Type.Optional(Type.String()),
  resource: Type.Optional(Repeatable()),
  audience: Type.Optional(Repeatable()),
})

async function tokenExchange(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { audiences, database } = kernelOf(fastify)
  const read = createSubjectTokens(fastify)
  const decide = createPolicy(audiences)
  const vouch = createVouch(fastify, read)

  /** Who acts beside the client, by a token of their own (RFC 8693 §1.1). */
  async function actingBy(
    { actor_token: token, actor_token_type: type }: { actor_token?: string; actor_token_type?: string },
    call: Call,
  ): Promise<Source | undefined> {
    if (token === undefined && type === undefined) return undefined
    if (token === undefined || type === undefined)
      throw new OAuthError('invalid_request', 'actor_token and actor_token_type go together')
    const acting = await read(type, token, call)
    if (acting.actor !== undefined) throw refused('it acts for somebody itself')
    return acting
  }

  oauth.extendClientMetadata(Type.Object({}), assertVouchingRules)
  // Draft-ietf-oauth-identity-chaining §3; IANA does not know the member yet: only who has an app to vouch for says it, from the next start on.
  oauth.extend('metadata', async () => {
    const [vouched] = await database.query(statements.vouchedFor, [])
    return vouched === undefined ? {} : { identity_chaining_requested_token_types_supported: [ID_JAG] }
  })
  oauth.registerGrant({
    type: GRANT_TYPE,
    parameters: Parameters,
    members: ['issued_token_type'],
    async authorize({ scope, resource = [], audience = [], ...sent }, call): Promise<Granted | Answer> {
      const { client } = call
      try {
        if (sent.requested_token_type === ID_JAG)
          return await vouch({ scope, resource, audience, ...sent }, call)
        if ((sent.requested_token_type ?? ACCESS_TOKEN) !== ACCESS_TOKEN)
          throw new OAuthError('invalid_request', 'only access tokens are issued here')
        const source = await read(sent.subject_token_type, sent.subject_token, call)
        const acting = await actingBy(sent, call)
        for (const one of [source, acting]) if (one !== undefined) assertHeld(one, call.binding)
        const wanted = {
          resources: [...resource, ...audience],
          scopes: scope === undefined ? undefined : parseScope(scope),
        }
        const { delegation, ...allowed } = await decide(client, source, acting, wanted)
        const actor: Actor = { sub: acting?.sub ?? client.clientId }
        assertMayAct(source, actor, client, oauth.issuer)
        const parent = behind(source, acting)
        assertShortEnough(source, parent)
        return {
          ...source.standsFor,
          ...allowed,
          ...(source.authentication === undefined ? {} : { authentication: source.authentication }),
          ...actorsOf(source, delegation ? actor : undefined),
          staysBound: Object.keys(source.cnf ?? {}),
          spends: [source, acting].flatMap((one) =>
            one?.spend === undefined ? [] : [{ ...one.spend, ...usedBefore(client) }],
          ),
          parent,
          notAfter: Math.min(source.notAfter, acting?.notAfter ?? Infinity),
          response: { issued_token_type: ACCESS_TOKEN },
        }
      } catch (error) {
        // A failure of ours refuses nothing.
        if (error instanceof OAuthError && error.status < 500)
          oauth.audit.observe(refusedEvent(error, client))
        throw error
      }
    },
  })
}

/** Told where it is spent, which is behind the grant. */
function usedBefore(client: Client): Required<Pick<Spend, 'refusal' | 'refused'>> {
  const refusal = refused('it was used before')
  return { refusal, refused: refusedEvent(refusal, client) }
}

function refusedEvent({ code }: OAuthError, { clientId }: Client): NewEvent {
  return { type: 'token.exchange_refused', client: clientId, details: { error: code } }
}

export default fp(tokenExchange, { name: 'latchkey-token-exchange', dependencies: ['latchkey-token'] })
