/** What users have going, and its end: where they are signed in, and what apps hold of them. */
import type { FastifyInstance } from 'fastify'
import type { Bag } from '../../src/protocol/bag.ts'
import { Type } from '../../src/protocol/schema.ts'
import { isOfClient } from '../../src/services/clients/same-client.ts'
import type { AuthorizationInformation, AuthorizationPage } from '../../src/services/tokens/authorizations.ts'
import { findClientOf } from './clients.ts'
import { Instant, instant } from './instants.ts'
import { cursorOf, limitOf, listAnswer, ListQuery, pageOf } from './lists.ts'
import type { AdminApi } from './operations.ts'
import { notFound } from '../programs/refusals.ts'

const SessionSchema = Type.Object(
  {
    sid: Type.String(),
    user_agent: Type.Optional(Type.String()),
    address: Type.Optional(Type.String()),
    amr: Type.Array(Type.String()),
    clients: Type.Array(Type.String(), { description: 'client_ids of the apps that it has signed in to.' }),
    created_at: Instant(),
    last_seen_at: Instant(),
    ends_at: Instant(),
    pending: Type.Boolean({ description: 'Whether the sign-in still lacks a factor.' }),
  },
  { title: 'Session' },
)
const AuthorizationSchema = Type.Object(
  {
    id: Type.String(),
    client_id: Type.String(),
    sub: Type.String(),
    scope: Type.String(),
    resources: Type.Array(Type.String()),
    created_at: Instant(),
    refreshed_at: Type.Optional(Instant()),
    refreshable: Type.Boolean({ description: 'Whether a refresh token of it is good now.' }),
    bound: Type.Boolean({ description: 'Whether its tokens are bound to a key of the client.' }),
  },
  { title: 'Authorization' },
)
const DONE = { status: 204 } as const
const AUTHORIZATIONS = listAnswer('authorizations', AuthorizationSchema)

export function addHoldings(fastify: FastifyInstance, api: AdminApi): void {
  const { authorizations, clients, findClient, sessions, users } = fastify.oauth

  api.serve({
    method: 'GET',
    path: '/users/:sub/sessions',
    name: 'listSessions',
    summary: 'The browsers with which a user is signed in',
    scope: 'latchkey:users:read',
    answer: { status: 200, schema: Type.Object({ sessions: Type.Array(SessionSchema) }) },
    async handle(_query, call) {
      const open = await sessions.list((await api.findUser(call)).id)
      return {
        sessions: open.map(({ sid, userAgent, address, amr, clients: ids, pending, ...times }) => ({
          sid,
          ...(userAgent === null ? {} : { user_agent: userAgent }),
          ...(address === null ? {} : { address }),
          amr,
          clients: ids,
          created_at: instant(times.createdAt),
          last_seen_at: instant(times.lastSeenAt),
          ends_at: instant(times.endsAt),
          pending,
        })),
      }
    },
  })
  api.serve({
    method: 'DELETE',
    path: '/users/:sub/sessions',
    name: 'endSessions',
    summary: 'Signs a user out everywhere',
    scope: 'latchkey:users:write',
    answer: DONE,
    async handle(_query, call) {
      await sessions.endAll((await api.findUserToChange(call)).id)
    },
  })
  api.serve({
    method: 'DELETE',
    path: '/users/:sub/sessions/:sid',
    name: 'endSession',
    summary: 'Signs one browser of a user out',
    scope: 'latchkey:users:write',
    answer: DONE,
    async handle(_query, call) {
      const { id } = await api.findUserToChange(call)
      if (!(await sessions.endOne(id, call.path['sid'] ?? ''))) throw notFound('session of this user')
    },
  })
  api.serve({
    method: 'DELETE',
    path: '/users/:sub/tokens',
    name: 'revokeTokensOfUser',
    summary: 'Ends every session and token of a user, who may sign in again',
    scope: 'latchkey:users:write',
    answer: DONE,
    async handle(_query, call) {
      await users.revokeTokens(await api.findUserToChange(call))
    },
  })

  /** One that was deleted holds nothing any more, nor does its namesake. */
  async function lives({ clientId, createdAt }: AuthorizationInformation): Promise<boolean> {
    const client = await findClient(clientId)
    return client !== null && isOfClient(clientId, createdAt, client)
  }

  async function toAnswer({ authorizations: all, next }: AuthorizationPage): Promise<Bag> {
    const living = await Promise.all(all.map(lives))
    const found = all.filter((_one, at) => living[at]).map(toWire)
    return pageOf('authorizations', found, next === null ? null : [next])
  }

  const wantedBy = (query: ListQuery) => ({ after: cursorOf(query), limit: limitOf(query) })

  api.serve({
    method: 'GET',
    path: '/users/:sub/authorizations',
    name: 'listAuthorizationsOfUser',
    summary: 'What apps hold of a user; a page may have none and still go on',
    scope: 'latchkey:users:read',
    query: ListQuery,
    answer: AUTHORIZATIONS,
    async handle(query, call) {
      const { id } = await api.findUser(call)
      return toAnswer(await authorizations.listByUser(id, wantedBy(query)))
    },
  })
  api.serve({
    method: 'GET',
    path: '/clients/:client_id/authorizations',
    name: 'listAuthorizationsOfClient',
    summary: 'What a client holds of users, by their sub; a page may have none and still go on',
    scope: 'latchkey:clients:read',
    query: ListQuery,
    answer: AUTHORIZATIONS,
    async handle(query, call) {
      const { client_id: id = '' } = await findClientOf(clients, call)
      return toAnswer(await authorizations.listByClient(id, wantedBy(query)))
    },
  })
  api.serve({
    method: 'DELETE',
    path: '/authorizations/:id',
    name: 'revokeAuthorization',
    summary: 'Ends what an app holds of a user, with every token of it',
    scope: 'latchkey:users:write',
    answer: DONE,
    async handle(_query, call) {
      const { id = '' } = call.path
      const owner = await authorizations.ownerOf(id)
      if (owner !== null) await api.findUserToChange({ ...call, path: { sub: owner } })
      if (!(await authorizations.revoke(id))) throw notFound('authorization that is good')
    },
  })
}

function toWire({ id, clientId, userId, scopes, resources, ...held }: AuthorizationInformation) {
  const { createdAt, refreshedAt, refreshable, bound } = held
  return {
    id,
    client_id: clientId,
    sub: userId,
    scope: scopes.join(' '),
    resources,
    created_at: instant(createdAt),
    ...(refreshedAt === null ? {} : { refreshed_at: instant(refreshedAt) }),
    refreshable,
    bound,
  }
}
