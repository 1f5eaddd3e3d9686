/**
 * `/clients`: apps and services, by the names of RFC 7591. A token without `latchkey:admin` neither gives a client a scope of this interface
 * nor touches one that has any: whoever has its secret has what it may do.
 */
import type { FastifyInstance } from 'fastify'
import type { TProperties } from 'typebox'
import { answer } from '../../src/doors/answer.ts'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import {
  ClientMetadata,
  clientToWire,
  parseMetadata,
  type ClientInformation,
} from '../../src/protocol/client-metadata.ts'
import { metadataError } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { ClientRegistry } from '../../src/services/clients/client-registry.ts'
import { assertAll, namesOurs, type ApiScope } from './access.ts'
import { listAnswer, listOrSearch, SearchQuery } from './lists.ts'
import type { AdminApi } from './operations.ts'
import { notFound } from './not-found.ts'

const READ: ApiScope = 'latchkey:clients:read'
const WRITE: ApiScope = 'latchkey:clients:write'
const ADMINISTRATION = 'what is done to a client that administers the server'
/** Seconds: a secret that works beside its successor, at most thirty days. */
const LONGEST_OVERLAP = 30 * 86_400

/** The client of the path. Throws `not_found`. */
export async function findClientOf(
  clients: Pick<ClientRegistry, 'find'>,
  { path }: Pick<BearerCall, 'path'>,
): Promise<ClientInformation> {
  const client = await clients.find(path['client_id'] ?? '')
  if (client === null) throw notFound('client')
  return client
}

export function addClients({ oauth }: FastifyInstance, api: AdminApi): void {
  const { clients } = oauth
  const { Client, WithSecret, New, Changes } = schemasOf(clients)
  const ONE = { status: 200, schema: Client } as const

  /** Throws `insufficient_scope` where it administers the server, or shall. */
  function assertMayChange(call: BearerCall, ...each: readonly Pick<ClientInformation, 'scope'>[]): void {
    if (each.some(({ scope }) => namesOurs(scope))) assertAll(call, ADMINISTRATION)
  }

  async function findToChange(call: BearerCall): Promise<string> {
    const client = await findClientOf(clients, call)
    assertMayChange(call, client)
    return client.client_id!
  }

  /** A misspelt member is refused, as nobody would read a warning. */
  function read(sent: Bag): ClientInformation {
    const { members: known, unknown } = parseMetadata(sent, clients.extensions())
    const [misspelt] = unknown
    if (misspelt !== undefined) throw metadataError(misspelt.slice(0, 100), 'is not known')
    return known
  }

  api.serve({
    method: 'GET',
    path: '/clients',
    name: 'listClients',
    summary: 'Clients by client_id, or those whose client_id or name begins with a text',
    scope: READ,
    query: SearchQuery,
    answer: { status: 200, schema: () => listAnswer('clients', Client()).schema },
    handle: async (query) =>
      listOrSearch('clients', query, {
        list: clients.list,
        search: clients.search,
        nameOf: ({ client_id: id }) => id!,
        toWire: clientToWire,
      }),
  })
  api.serve({
    method: 'POST',
    path: '/clients',
    name: 'createClient',
    summary: 'Registers a client; where it needs a secret and none is given, the answer has one, this once',
    scope: WRITE,
    body: New,
    answer: { status: 201, schema: WithSecret },
    async handle(_query, call) {
      assertMayChange(call, read(call.body))
      return answer({ status: 201, body: clientToWire(await clients.create(call.body, { strict: true })) })
    },
  })
  api.serve({
    method: 'GET',
    path: '/clients/:client_id',
    name: 'getClient',
    summary: 'One client, without its secrets',
    scope: READ,
    answer: ONE,
    handle: async (_query, call) => clientToWire(await findClientOf(clients, call)),
  })
  api.serve({
    method: 'PATCH',
    path: '/clients/:client_id',
    name: 'updateClient',
    summary: 'Changes members of a client; one that is null is taken away',
    scope: WRITE,
    body: Changes,
    answer: ONE,
    async handle(_query, call) {
      const id = await findToChange(call)
      assertMayChange(call, read(call.body))
      return clientToWire(await clients.update(id, call.body, { strict: true }))
    },
  })
  api.serve({
    method: 'DELETE',
    path: '/clients/:client_id',
    name: 'deleteClient',
    summary: 'Removes a client; its tokens are dead',
    scope: WRITE,
    answer: { status: 204 },
    async handle(_query, call) {
      if (!(await clients.delete(await findToChange(call)))) throw notFound('client')
      return answer({ status: 204 })
    },
  })
  api.serve({
    method: 'POST',
    path: '/clients/:client_id/secret',
    name: 'rotateSecret',
    summary: 'A new secret of a client; the one before works beside it for `overlap` seconds',
    scope: WRITE,
    body: Type.Object({
      overlap: Type.Optional(Type.Integer({ minimum: 0, maximum: LONGEST_OVERLAP, default: 0 })),
    }),
    answer: { status: 201, schema: WithSecret },
    async handle(_query, call) {
      const id = await findToChange(call)
      const client = await clients.rotateSecret(id, overlapOf(call.body))
      return answer({ status: 201, body: clientToWire(client) })
    },
  })
}

function overlapOf({ overlap = 0 }: Bag): number {
  const isSeconds = Number.isInteger(overlap) && Number(overlap) >= 0 && Number(overlap) <= LONGEST_OVERLAP
  if (isSeconds) return Number(overlap)
  throw metadataError('overlap', `must be a whole number of seconds from 0 to ${LONGEST_OVERLAP}`)
}

/** Made when they are asked for: plugins add members while the server starts. */
function schemasOf(clients: Pick<ClientRegistry, 'extensions'>) {
  const members = () => {
    const { scope: _list, client_secret: _secret, ...ours } = ClientMetadata.properties
    const theirs = clients.extensions().map((extension) => Type.Partial(extension).properties)
    const scope = Type.Optional(Type.String({ description: 'Names with spaces between.' }))
    return Object.assign({}, ours, ...theirs, { scope }) as TProperties
  }
  const known = () => ({ ...members(), client_id: Type.String() })
  const sent = () => ({ ...members(), client_secret: Type.Optional(Type.String({ writeOnly: true })) })
  const made = Type.Optional(
    Type.String({ description: 'In the answer that it was made for, and never again.' }),
  )
  return {
    Client: () => Type.Object(known(), { title: 'Client' }),
    WithSecret: () => Type.Object({ ...known(), client_secret: made }, { title: 'ClientWithSecret' }),
    New: () => Type.Object(sent(), { title: 'NewClient' }),
    Changes: () => Type.Object(sent(), { title: 'ClientChanges' }),
  }
}
