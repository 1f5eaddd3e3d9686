/** `/admin/client/authorizations`: who approved a client, a page at a time, and the end of what it has of them. */
import type { ClientInformation } from '../../../src/protocol/client-metadata.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { isOfClient } from '../../../src/services/clients/same-client.ts'
import { findFace } from './client-face.ts'
import { getClient, isUnregistered } from './client-page.ts'
import type { OwnArea } from '../area.ts'

const PAGE = 50
const PATH = '/client/authorizations'
const REVOKE = '/client/revoke'
const Text = () => Type.Optional(Type.String())

export function addClientAuthorizations(area: OwnArea): void {
  const { oauth, serve, uri } = area
  /** One that is not registered holds something all the same. Throws where there is none. */
  const knownAs = async (clientId: string): Promise<ClientInformation> =>
    (await isUnregistered(area, clientId)) ? { client_id: clientId } : getClient(area, clientId)
  const subjectOf = (clientId: string, authorization: string): string => `${clientId} ${authorization}`

  serve({
    path: `/admin${PATH}`,
    query: Type.Object({ client_id: Text(), after: Text(), revoked: Text() }),
    async show({ client_id: clientId = '', after, revoked }, call) {
      const { name } = await findFace(area, await knownAs(clientId))
      const client = await oauth.findClient(clientId)
      const { authorizations, next } = await oauth.authorizations.listByClient(clientId, {
        after,
        limit: PAGE,
      })
      // What a namesake was given that was deleted is nobody's any more.
      const own = authorizations.filter(
        ({ createdAt }) => client !== null && isOfClient(clientId, createdAt, client),
      )
      const rows = own.map(async ({ id, userId, scopes, createdAt, refreshedAt, refreshable, bound }) => ({
        id,
        username: (await oauth.findUser(userId))?.username ?? userId,
        userUri: area.userUri(userId),
        scopes: scopes.join(' '),
        since: new Date(createdAt),
        refreshed: refreshable && refreshedAt !== null ? new Date(refreshedAt) : null,
        bound,
        revoke: area.target(call, REVOKE, subjectOf(clientId, id)),
      }))
      const ofClient = { client_id: clientId }
      return call.reply.page('admin-client-authorizations', {
        clientId,
        name,
        revoked: revoked !== undefined,
        rows: await Promise.all(rows),
        clientUri: uri('/client', ofClient),
        nextUri: next === null ? null : uri(PATH, { ...ofClient, after: next }),
        firstUri: after === undefined ? null : uri(PATH, ofClient),
      })
    },
  })
  serve({
    path: `/admin${REVOKE}`,
    query: Type.Object({ client_id: Text() }),
    form: Type.Object({ client_id: Text(), authorization: Text() }),
    show: async ({ client_id: clientId = '' }, { reply }) =>
      reply.redirect(uri(PATH, { client_id: clientId }), 303),
    async submit({ client_id: clientId = '', authorization = '' }, call) {
      area.assertGenuine(call, REVOKE, subjectOf(clientId, authorization))
      await knownAs(clientId)
      // One that has ended meanwhile is as it was wanted.
      await oauth.authorizations.revoke(authorization)
      return call.reply.redirect(uri(PATH, { client_id: clientId, revoked: 'yes' }), 303)
    },
  })
}
