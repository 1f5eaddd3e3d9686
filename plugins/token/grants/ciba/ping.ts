/** Tells a client that its request has been decided (CIBA §10.2), so that it comes for the answer at once. */
import type { FastifyInstance } from 'fastify'
import { Undeliverable } from '../../../../src/doors/outbound.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { modeOf } from './metadata.ts'
import type { BackchannelRequests } from './requests.ts'

const KIND = 'ciba-ping'

export function addPing({ oauth }: FastifyInstance, requests: BackchannelRequests): void {
  oauth.deliver({
    kind: KIND,
    payload: Type.Object({ client: Type.String(), request: Type.String() }),
    async deliver({ client: clientId, request }) {
      const client = await oauth.findClient(clientId)
      const ping = client === null ? null : await requests.pingOf(request, client)
      // It is gone, or has its answer.
      if (client === null || ping === null) return null
      const { backchannel_client_notification_endpoint: endpoint } = client.metadata
      if (modeOf(client.metadata) !== 'ping' || typeof endpoint !== 'string') return null
      const { ok, status } = await oauth.fetch(endpoint, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${ping.notificationToken}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ auth_req_id: ping.authReqId }),
      })
      if (ok) return undefined
      const words = `the app answered with ${status}`
      // It does not want it: a redirect is not followed, and what it refuses once it refuses again.
      throw status < 500 && status !== 429 ? new Undeliverable(words) : new Error(words)
    },
  })
  oauth.enqueueOn(['ciba.allowed', 'ciba.denied'], ({ client = '', details }, clientInMemory) => {
    const known = clientInMemory(client)
    if (known !== undefined && modeOf(known.metadata) !== 'ping') return []
    return [{ kind: KIND, recipient: client, payload: { client, request: details.request } }]
  })
}
