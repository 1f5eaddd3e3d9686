/**
 * Token exchange (RFC 8693) for Latchkey: a client that was sent an access token of ours gets one of its own, to go on with
 * for the same user or client. What it gets is no more than what it was sent, ends with it, and says who acts.
 */
import type { FastifyInstance } from 'fastify'
import { OAuthError, parentOf, parseScope, Repeatable, Type } from 'latchkey'
import type { Actor, Client, Granted, OAuth, Verified } from 'latchkey'

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

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

export default async function tokenExchange({ oauth }: FastifyInstance): Promise<void> {
  oauth.extendClientMetadata(
    Type.Object({ exchanges_tokens_of: Type.Optional(Type.Array(Type.String({ minLength: 1 }))) }),
  )

  oauth.registerGrant({
    type: GRANT,
    parameters: Parameters,
    members: ['issued_token_type'],
    async authorize({ scope, resource = [], audience = [], ...sent }, { client }) {
      for (const type of [sent.subject_token_type, sent.actor_token_type, sent.requested_token_type])
        if (type !== undefined && type !== ACCESS_TOKEN)
          throw new OAuthError('invalid_request', 'only access tokens are exchanged, for access tokens')
      if ((sent.actor_token === undefined) !== (sent.actor_token_type === undefined))
        throw new OAuthError('invalid_request', 'actor_token and actor_token_type go together')

      const source = await verify(oauth, sent.subject_token)
      if (!mayExchange(client, source)) throw refused()
      const acting = sent.actor_token === undefined ? null : await verify(oauth, sent.actor_token)
      if (acting !== null && acting.claims.client_id !== client.clientId) throw refused()

      return {
        ...standsFor(source),
        scopes: narrowed(source, scope, client),
        resources: [...resource, ...audience],
        actor: actorOf(source, acting?.claims.sub ?? client.clientId),
        parent: parentOf(source),
        ...(acting === null ? {} : { notAfter: acting.claims.exp * 1000 }),
        response: { issued_token_type: ACCESS_TOKEN },
      }
    },
  })
}

async function verify(oauth: OAuth, token: string): Promise<Verified> {
  const found = await oauth.verify(token)
  if (found === null) throw refused()
  return found
}

/**
 * Whom the token was sent to, as one of its audience, or who is trusted with those of its client. One that is bound to a key
 * is good for who holds that, and nobody gets one for it that is not.
 */
function mayExchange({ clientId, metadata }: Client, { claims }: Verified): boolean {
  if (claims.cnf !== undefined) return false
  const trusted = metadata['exchanges_tokens_of']
  return (
    [claims['aud']].flat().includes(clientId) ||
    (Array.isArray(trusted) && trusted.includes(claims.client_id))
  )
}

function standsFor({ claims, authorization }: Verified): Pick<Granted, 'subject' | 'subjectClient'> {
  const subject = authorization?.subject
  return subject === undefined ? { subjectClient: claims.sub } : { subject }
}

/** Of the token's own scopes those that were asked for, or all that the client may have. */
function narrowed({ claims }: Verified, asked: string | undefined, client: Client): ReadonlySet<string> {
  const had = parseScope(String(claims['scope']))
  if (asked === undefined) return new Set([...had].filter((name) => client.grantableScopes.has(name)))
  const wanted = parseScope(asked)
  if (![...wanted].every((name) => had.has(name)))
    throw new OAuthError('invalid_scope', 'the subject_token has no such scope')
  return wanted
}

function actorOf({ claims }: Verified, sub: string): Actor {
  return claims.act === undefined ? { sub } : { sub, act: claims.act }
}

/** RFC 8693 §2.2.2: whatever is wrong with it. */
function refused(): OAuthError {
  return new OAuthError('invalid_request', 'the token is not good, or not for this client to exchange')
}
