/** `/admin/clients`: the registered clients, a page at a time in the order of their ids, or those that a search finds. */
import { Type } from 'typebox'
import type { ClientInformation } from '../../src/protocol/client-metadata.ts'
import type { Desk } from './desk.ts'

const PAGE = 50

export function addClientList({ oauth, serve, uri }: Desk): void {
  const toRow = ({ client_id: clientId = '', client_name: name, grant_types: grants = [] }: ClientInformation) => ({
    clientId,
    name: name ?? clientId,
    href: uri('/client', { client_id: clientId }),
    grants: grants.join(' '),
  }) // prettier-ignore

  serve({
    path: '/admin/clients',
    query: Type.Object({ after: Type.Optional(Type.String()), search: Type.Optional(Type.String()) }),
    async show({ after, search = '' }, { reply }) {
      const begin = search.trim()
      const found = await (begin === ''
        ? oauth.clients.list(after, PAGE + 1)
        : oauth.clients.search(begin, PAGE + 1))
      const clients = found.slice(0, PAGE)
      const more = found.length > PAGE
      const last = clients.at(-1)?.client_id ?? ''
      return reply.page('admin-clients', {
        clients: clients.map(toRow),
        newUri: uri('/clients/new'),
        searchUri: uri('/clients'),
        search: begin,
        more: more && begin !== '',
        nextUri: more && begin === '' ? uri('/clients', { after: last }) : null,
        firstUri: after === undefined && begin === '' ? null : uri('/clients'),
      })
    },
  })
}
