/**
 * `/clients`: apps and services, by the names of RFC 7591. A token without `latchkey:admin` neither gives a client a scope of this interface
 * nor touches one that has any: whoever has its secret has what it may do.
 */
import type { FastifyInstance } from 'fastify'
import type { TProperties } from 'typebox'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import {
  ClientMetadata,
  clientToWire,
  parseMetadata,
  type ClientInformation,
} from '../../src/protocol/client-metadata.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { ClientRegistry, Judged } from '../../src/services/clients/client-registry.ts'
import { ALL, namesOurs, type ApiScope } from './access.ts'
import { listAnswer, listOrSearch, SearchQuery } from './lists.ts'
import type { AdminApi } from './operations.ts'
import { notFound, orConflict, orGone } from '../programs/refusals.ts'
import { assertAddressable, assertKnown, memberProblem } from './refusals.ts'

const READ: ApiScope = 'latchkey:clients:read'
const WRITE: ApiScope = 'latchkey:clients:write'
const ADMINISTRATION = 'what is done to a client that administers the server'
/** Seconds: a secret that works beside its successor, at most thirty days. */
const LONGEST_OVERLAP = 30 * 86_400
/** Characters of one that somebody chooses: as many as 128 bits have in hexadecimal digits. */
const SHORTEST_SECRET = 32

/** The client of the path. Throws `not_found`. */
export async function findClientOf(
  clients: Pick<ClientRegistry, 'find'>,
  { path }: Pick<BearerCall, 'path'>,
): Promise<ClientInformation> {
  const client = await clients.find(path['client_id'] ?? '')
  if (client === null) throw notFound('client')
  return client
}

/** It has got a scope of this interface meanwhile. */
class Administering extends Error {}

export function addClients({ oauth }: FastifyInstance, api: AdminApi): void {
  const { clients } = oauth
  const { Client, WithSecret, New, Changes } = schemasOf(clients)
  const ONE = { status: 200, schema: Client } as const

  /** Of what is to be stored. Throws `insufficient_scope`. */
  async function assertMayGive(call: BearerCall, wanted: ClientInformation): Promise<void> {
    const isNamedSo = wanted.client_id !== undefined && namesOurs([wanted.client_id])
    if (isNamedSo || administers(wanted)) await api.assertAll(call, ADMINISTRATION)
  }

  /** Changes the client of the path, which is judged as it is when it is done, too. */
  async function change<T>(
    call: BearerCall,
    work: (clientId: string, options: Judged) => Promise<T>,
  ): Promise<T> {
    const client = await findClientOf(clients, call)
    if (administers(client)) await api.assertAll(call, ADMINISTRATION)
    const judge: Judged['judge'] = (now) => {
      if (administers(now) && !call.token.scopes.has(ALL)) throw new Administering()
    }
    try {
      return await work(client.client_id!, { judge })
    } catch (error) {
      if (!(error instanceof Administering))
        throw await orGone(error, async () => findClientOf(clients, call))
      await api.assertAll(call, ADMINISTRATION)
      return work(client.client_id!, {})
    }
  }

  function read(sent: Bag): ClientInformation {
    const { members: known, unknown } = parseMetadata(sent, clients.extensions())
    assertKnown(sent, (name) => !unknown.includes(name))
    for (const name of ['client_id', 'client_secret'])
      if (sent[name] === null)
        throw memberProblem(name, 'cannot be taken away: another secret takes its place')
    const { client_secret: secret } = known
    if (secret !== undefined && secret.length < SHORTEST_SECRET)
      throw memberProblem(
        'client_secret',
        `must have ${SHORTEST_SECRET} characters at least: leave it out, and one is made`,
      )
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
    judges: New,
    answer: { status: 201, schema: WithSecret },
    async handle(_query, call) {
      const wanted = read(call.body)
      assertAddressable('client_id', wanted.client_id)
      await assertMayGive(call, wanted)
      const created = orConflict(
        clients.create(call.body, { strict: true }),
        'client_id',
        async () => (await clients.find(wanted.client_id ?? '')) !== null,
      )
      return clientToWire(await created)
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
    judges: Changes,
    answer: ONE,
    async handle(_query, call) {
      await assertMayGive(call, read(call.body))
      const options = { strict: true }
      const updated = change(call, async (id, judged) =>
        clients.update(id, call.body, { ...options, ...judged }),
      )
      return clientToWire(await updated)
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
      if (!(await change(call, clients.delete))) throw notFound('client')
    },
  })
  api.serve({
    method: 'POST',
    path: '/clients/:client_id/secret',
    name: 'rotateSecret',
    summary:
      'A new secret of a client; the one before works beside it for `overlap` seconds, and any before that as long as it had; without, all end',
    scope: WRITE,
    body: Type.Object({
      overlap: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: LONGEST_OVERLAP,
          default: 0,
          expects: `a whole number of seconds from 0 to ${LONGEST_OVERLAP}`,
        }),
      ),
    }),
    answer: { status: 201, schema: WithSecret },
    async handle(_query, call) {
      const { overlap = 0 } = call.body
      const rotated = change(call, async (id, judged) => clients.rotateSecret(id, Number(overlap), judged))
      return clientToWire(await rotated)
    },
  })
}

/** Whether it has a scope by which somebody administers the server, or may come by one. */
export function administers({
  scope,
  default_scope: usual,
  optional_scopes: optional,
  token_exchange: rules,
}: ClientInformation): boolean {
  const exchanged = rules?.flatMap(({ scopes = [] }) => scopes)
  return [scope, usual, optional, exchanged].some((names) => namesOurs(names))
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
  const chosen = Type.String({ minLength: SHORTEST_SECRET, writeOnly: true })
  const sent = () => ({ ...members(), client_secret: Type.Optional(chosen) })
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
