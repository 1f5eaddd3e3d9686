/** The page that people open: sign-in and consent are the server's own, then it shows the code. */
import type { FastifyInstance } from 'fastify'
import { message, OAuthError, Type, type Bag } from 'latchkey'
import type { Pairings } from './codes.ts'

declare module 'latchkey' {
  interface Pages {
    pairing: { code: string | null }
  }
  interface EventDetails {
    /** Somebody was shown a code. */
    'pairing.created': Bag
  }
}

const NOTICE = message(
  'You will be shown a code. Whoever types it gets this access: tell it to nobody, and type it into your own device.',
)

export async function addPages(fastify: FastifyInstance, pairings: Pairings): Promise<void> {
  const { oauth, interactions, pages } = fastify
  await pages.add('pairing', new URL('./pairing.eta', import.meta.url))

  pages.serve({
    path: '/pair',
    query: Type.Object({ client_id: Type.String() }),
    async show({ client_id }, call) {
      const client = await oauth.findClient(client_id)
      if (client === null || !client.grantTypes.has('urn:example:pairing'))
        throw new OAuthError('unauthorized_client', 'no app that pairs is registered under this client_id')
      const approval = await oauth.parseApproval(client, call.wire)
      // Asked each time: the link may have come from anybody.
      const asked = {
        ...approval,
        parameters: { ...approval.parameters, prompt: ['consent'] },
        notices: [NOTICE],
      }
      return interactions.start(asked, 'pairing', {}, call)
    },
  })

  oauth.register('outcome', 'pairing', {
    async approved({ request: { client } }, granted, { reply }) {
      const code = await pairings.create(client.clientId, granted)
      oauth.audit.observe({
        type: 'pairing.created',
        client: client.clientId,
        user: granted.subject,
        details: {},
      })
      return reply.page('pairing', { code })
    },
    denied: async (_interaction, _error, { reply }) => reply.page('pairing', { code: null }),
  })
}
