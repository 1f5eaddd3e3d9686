/** `/admin/clients`: the registered clients in the order of their ids, or those that a search finds. */
import type { ClientInformation } from '../../../src/protocol/client-metadata.ts'
import { message } from '../../../src/protocol/message.ts'
import { createClientLists, type ClientLists } from '../../../src/services/clients/client-finder.ts'
import type { OwnArea } from '../area.ts'
import { ListQuery, readList, type Listed } from '../searched-list.ts'
import { findFace } from './client-face.ts'

export function addClientList(area: OwnArea): void {
  const listed = ({ list, search }: ClientLists): Listed<ClientInformation> => ({
    path: '/clients',
    newPath: '/clients/new',
    list,
    search,
    deleted: message('The client is deleted.'),
    nameOf: ({ client_id: clientId }) => clientId!,
  })
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
    async show(query, call) {
      const listing = await area.listing(call)
      const { found, page } = await readList(area, listed(createClientLists(listing)), query)
      const clients = await Promise.all(found.map(toRow))
      return call.reply.page('admin-clients', { ...page, clients, behind: listing.asOf() })
    },
  })
}
