/** `/admin/clients`: the registered clients, a page at a time in the order of their ids, or those that a search finds. */
import { Type } from 'typebox'
import type { ClientInformation } from '../../../src/protocol/client-metadata.ts'
import type { Place } from '../../../src/store/begins-with.ts'
import type { Desk } from '../desk.ts'

const PAGE = 50
const PATH = '/clients'
const Text = () => Type.Optional(Type.String())

interface Listed {
  clients: readonly ClientInformation[]
  /** What the address of the next page asks for; null at the end. */
  next: Record<string, string> | null
}

export function addClientList({ oauth, serve, uri }: Desk): void {
  const toRow = ({ client_id: clientId = '', client_name: name, grant_types: grants = [] }: ClientInformation) => ({
    clientId,
    name: name ?? clientId,
    href: uri('/client', { client_id: clientId }),
    grants: grants.join(' '),
  }) // prettier-ignore

  async function list(after = ''): Promise<Listed> {
    const found = await oauth.clients.list(after, PAGE + 1)
    const clients = found.slice(0, PAGE)
    return { clients, next: found.length > PAGE ? { after: clients.at(-1)!.client_id! } : null }
  }

  async function find(search: string, after: Place): Promise<Listed> {
    const { found, next } = await oauth.clients.search(search, { after, limit: PAGE })
    return { clients: found, next: next && { search, at: next.at, after: next.id } }
  }

  serve({
    path: `/admin${PATH}`,
    query: Type.Object({ search: Text(), at: Text(), after: Text() }),
    async show({ search: typed = '', at = '', after }, { reply }) {
      const search = typed.trim()
      const { clients, next } = await (search === '' ? list(after) : find(search, { at, id: after ?? '' }))
      return reply.page('admin-clients', {
        clients: clients.map(toRow),
        newUri: uri('/clients/new'),
        searchUri: uri(PATH),
        search,
        nextUri: next && uri(PATH, next),
        firstUri: after === undefined ? null : uri(PATH, search === '' ? undefined : { search }),
        allUri: search === '' ? null : uri(PATH),
      })
    },
  })
}
