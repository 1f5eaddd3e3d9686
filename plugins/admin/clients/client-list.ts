/** `/admin/clients`: the registered clients in the order of their ids, or those that a search finds. */
import type { ClientInformation } from '../../../src/protocol/client-metadata.ts'
import type { OwnArea } from '../area.ts'
import { ListQuery, readList, type Listed } from '../searched-list.ts'
import { findFace } from './client-face.ts'

export function addClientList(area: OwnArea): void {
  const { clients } = area.oauth
  const listed: Listed<ClientInformation> = {
    path: '/clients',
    newPath: '/clients/new',
    list: async (after, limit) => clients.list(after, limit),
    search: async (text, options) => clients.search(text, options),
    nameOf: ({ client_id: clientId }) => clientId!,
  }
  async function toRow(client: ClientInformation) {
    const { client_id: clientId = '', grant_types: grants = [] } = client
    return {
      clientId,
      ...(await findFace(area, client)),
      href: area.uri('/client', { client_id: clientId }),
      grants: grants.join(' '),
    }
  }

  area.serve({
    path: '/admin/clients',
    query: ListQuery,
    async show(query, { reply }) {
      const { found, page } = await readList(area, listed, query)
      return reply.page('admin-clients', { ...page, clients: await Promise.all(found.map(toRow)) })
    },
  })
}
