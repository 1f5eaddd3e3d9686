/** `/admin/client/delete`: removes a client, once its id was typed. */
import { Type } from '../../../src/protocol/schema.ts'
import { getClient, showClient } from './client-page.ts'
import type { Desk } from '../desk.ts'

const PATH = '/client/delete'
const Fields = Type.Object({
  client_id: Type.Optional(Type.String()),
  confirm_client_id: Type.Optional(Type.String()),
})

export function addClientEnd(desk: Desk): void {
  const { oauth, serve, uri } = desk

  serve({
    path: `/admin${PATH}`,
    query: Fields,
    form: Fields,
    show: async ({ client_id: clientId = '' }, { reply }) =>
      reply.redirect(uri('/client', { client_id: clientId }), 303),
    async submit({ client_id: clientId = '', confirm_client_id: typed = '' }, call) {
      desk.assertGenuine(call, PATH, clientId)
      const client = await getClient(desk, clientId)
      const again = desk.signInAgain(call, uri('/client', { client_id: clientId, again: 'yes' }))
      if (again !== undefined) return again
      if (typed.trim() !== clientId) {
        const deletion = { error: 'This is not the client ID of this client.', typed }
        return showClient(desk, call, client, { deletion })
      }
      await oauth.clients.delete(clientId)
      return call.reply.redirect(uri('/clients'), 303)
    },
  })
}
