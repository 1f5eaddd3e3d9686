/**
 * OpenID Connect Back-Channel Logout 1.0: when something of a user's ends, the apps that had it are told, each by a logout
 * token at the address that it registered. What is to be told is stored with the ending itself.
 */
import type { FastifyInstance } from 'fastify'
import { ENDINGS, Type } from 'latchkey'

const KIND = 'backchannel-logout'
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

export default async function backChannelLogout({ oauth }: FastifyInstance): Promise<void> {
  oauth.extend('metadata', async () => ({
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  }))

  oauth.deliver({
    kind: KIND,
    payload: Type.Object({
      client: Type.String(),
      user: Type.String(),
      sid: Type.Optional(Type.String()),
    }),
    async deliver({ client: clientId, user, sid }, { id }) {
      const client = await oauth.findClient(clientId)
      const {
        backchannel_logout_uri: address,
        backchannel_logout_session_required: needsSid = false,
        id_token_signed_response_alg: algorithm = 'RS256',
      } = client?.metadata ?? {}
      if (client === null || typeof address !== 'string' || (needsSid && sid === undefined)) return
      const now = Math.floor(Date.now() / 1000)
      const claims = {
        aud: clientId,
        sub: oauth.subjectOf(user, client),
        ...(sid === undefined ? {} : { sid }),
        iat: now,
        exp: now + 120,
        jti: id,
        events: { [EVENT]: {} },
      }
      const token = await oauth.signStatement(claims, { algorithm: String(algorithm), typ: 'logout+jwt' })
      const body = new URLSearchParams({ logout_token: token })
      const { ok, status } = await oauth.fetch(address, { method: 'POST', body })
      if (!ok) throw new Error(`the app answered with ${status}`)
    },
  })

  oauth.enqueueOn(ENDINGS, ({ user, details }) =>
    user === undefined
      ? []
      : details.clients.flatMap(({ client, sids }) => {
          const each = sids.length === 0 ? [{}] : sids.map((sid) => ({ sid }))
          return each.map((one) => ({ kind: KIND, payload: { client, user, ...one } }))
        }),
  )
}
