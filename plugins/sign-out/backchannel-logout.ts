/**
 * OpenID Connect Back-Channel Logout 1.0: when a session of a user ends, or all that they had, the apps that it signed in to are told at
 * the addresses that they registered. What is to be told is stored with the ending itself, and told until it is taken.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Client } from '../../src/doors/client.ts'
import { ENDINGS } from '../../src/events.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { metadataError } from '../../src/protocol/errors.ts'
import { reason } from '../../src/protocol/message.ts'
import { encryptionOf } from '../../src/protocol/encryption.ts'
import { isOfClient } from '../../src/services/clients/same-client.ts'
import { Type } from '../../src/protocol/schema.ts'

const KIND = 'backchannel-logout'
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Seconds that a logout token is good; each try has one of its own (§2.4). */
const LIFETIME = 120

/** A client that is gone can be told nothing; and a token that came twice was stolen, which is not its user's leave. */
const TOLD = ENDINGS.filter((type) => type !== 'client.deleted' && type !== 'authorization.replayed')

async function backChannelLogout(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { clientEncryption } = kernelOf(fastify)

  /** §2.5: who has its ID tokens encrypted refuses a logout token that is not. */
  async function sealedFor(client: Client, token: string): Promise<string> {
    const encryption = encryptionOf(client.metadata, 'id_token')
    if (encryption === undefined || !fastify.hasPlugin('latchkey-encryption')) return token
    return clientEncryption.encryptTo(client, token, { ...encryption, cty: 'JWT' })
  }

  oauth.extend('metadata', async () => ({
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  }))

  oauth.extendClientMetadata(
    Type.Object({}),
    ({ backchannel_logout_uri: uri, token_endpoint_auth_method: method }) => {
      // §2.2.
      if (typeof uri === 'string' && !uri.startsWith('https:') && method === 'none')
        throw metadataError(
          'backchannel_logout_uri',
          reason('must use https, unless the client is confidential'),
        )
    },
  )

  oauth.deliver({
    kind: KIND,
    payload: Type.Object({
      client: Type.String(),
      user: Type.String(),
      sid: Type.Optional(Type.String()),
    }),
    async deliver({ client: clientId, user, sid }, { id, enqueuedAt }) {
      const client = await oauth.findClient(clientId)
      if (client === null || !isOfClient(clientId, enqueuedAt, client) || !isTold(client, sid)) return null
      const { backchannel_logout_uri: address, id_token_signed_response_alg: algorithm = 'RS256' } =
        client.metadata
      const now = Math.floor(Date.now() / 1000)
      const claims = {
        aud: clientId,
        sub: oauth.subjectOf(user, client),
        ...(sid === undefined ? {} : { sid }),
        iat: now,
        exp: now + LIFETIME,
        jti: id,
        events: { [EVENT]: {} },
      }
      const token = await oauth.signStatement(claims, { typ: 'logout+jwt', algorithm: String(algorithm) })
      const body = new URLSearchParams({ logout_token: await sealedFor(client, token) })
      const { ok, status } = await oauth.fetch(String(address), { method: 'POST', body })
      if (!ok) throw new Error(`the app answered with ${status}`)
      return undefined
    },
  })

  oauth.add('signOutNotice', { name: KIND, tell: (client, { sid }) => (isTold(client, sid) ? {} : null) })

  oauth.enqueueOn(TOLD, ({ type, user, actor, details }, clientInMemory) => {
    // What a client ends itself, by revoking its token, is no news to it.
    if (user === undefined || (type === 'authorization.revoked' && actor.kind === 'client')) return []
    return details.clients.flatMap(({ client, sids }) => {
      const known = clientInMemory(client)
      const each = sids.length === 0 ? [undefined] : sids
      return each
        .filter((sid) => known === undefined || isTold(known, sid))
        .map((sid) => ({
          kind: KIND,
          recipient: client,
          payload: { client, user, ...(sid === undefined ? {} : { sid }) },
        }))
    })
  })
}

/** Whether it has an address for it, and can make something of what there is to say (§2.2). */
function isTold({ metadata }: Client, sid: string | undefined): boolean {
  const { backchannel_logout_uri: address, backchannel_logout_session_required: needsSid } = metadata
  return address !== undefined && (sid !== undefined || needsSid !== true)
}

export default fp(backChannelLogout, {
  name: 'latchkey-backchannel-logout',
  dependencies: ['latchkey-oauth', 'latchkey-openid'],
})
