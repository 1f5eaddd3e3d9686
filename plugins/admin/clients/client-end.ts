/** `/admin/client/delete`: removes a client, once its id was typed. */
import { message } from '../../../src/protocol/message.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { getClient, showClient } from './client-page.ts'
import type { OwnArea } from '../area.ts'

const PATH = '/client/delete'
const Fields = Type.Object({
  client_id: Type.Optional(Type.String()),
  confirm_client_id: Type.Optional(Type.String()),
})

export function addClientEnd(area: OwnArea): void {
  const { oauth, serve, uri } = area

  serve({
    path: `/admin${PATH}`,
    query: Fields,
    form: Fields,
    show: async ({ client_id: clientId = '' }, { reply }) =>
      reply.redirect(uri('/client', { client_id: clientId }), 303),
    async submit({ client_id: clientId = '', confirm_client_id: typed = '' }, call) {
      area.assertGenuine(call, PATH, clientId)
      const client = await getClient(area, clientId)
      const again = area.signInAgain(call, uri('/client', { client_id: clientId, again: 'yes' }))
      if (again !== undefined) return again
      if (typed.trim() !== clientId) {
        const deletion = { error: message('This is not the client ID of this client.'), typed }
        return showClient(area, call, client, { deletion })
      }
      await oauth.clients.delete(clientId)
      return call.reply.redirect(uri('/clients', { removed: 'yes' }), 303)
    },
  })
}
