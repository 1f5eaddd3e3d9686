/** What a user holds, as an administrator sees it: the browsers they are signed in with, and what apps have of them. */
import { isOfClient } from '../../../src/services/clients/same-client.ts'
import type { PageCall } from '../../pages/index.ts'
import { describeUserAgent } from '../../pages/user-agent.ts'
import type { OwnArea } from '../area.ts'
import type { UserPage } from './user-models.ts'
import { faceOf } from '../../pages/client-view.ts'

/** Authorizations on a page. */
const PAGE = 20

/** What a form is about that ends one of a user's things. */
export function subjectOf(userId: string, thing: string): string {
  return `${userId} ${thing}`
}

export async function sessionsOf(
  area: OwnArea,
  call: PageCall,
  userId: string,
): Promise<UserPage['sessions']> {
  const { sid: own } = area.administratorOf(call.request).session
  return (await area.oauth.sessions.list(userId)).map(
    ({ sid, userAgent, address, createdAt, lastSeenAt, pending }) => ({
      sid,
      title: describeUserAgent(userAgent),
      address,
      since: new Date(createdAt),
      lastSeen: new Date(lastSeenAt),
      pending,
      isThis: sid === own,
      end: area.target(call, '/user/end-session', subjectOf(userId, sid)),
    }),
  )
}

export async function authorizationsOf(
  area: OwnArea,
  call: PageCall,
  userId: string,
  after: string | undefined,
): Promise<Pick<UserPage, 'authorizations' | 'nextUri'>> {
  const { oauth, uri } = area
  const { authorizations, next } = await oauth.authorizations.listByUser(userId, { after, limit: PAGE })
  const views = authorizations.map(async ({ id, clientId, scopes, createdAt, refreshedAt, ...held }) => {
    const client = await oauth.findClient(clientId)
    // One that was deleted holds nothing any more, nor does its namesake.
    const lives = client !== null && isOfClient(clientId, createdAt, client)
    return {
      id,
      clientName: client === null ? clientId : faceOf(client).name,
      clientUri: lives ? uri('/client', { client_id: clientId }) : null,
      scopes: scopes.join(' '),
      since: new Date(createdAt),
      refreshed: lives && held.refreshable ? new Date(refreshedAt!) : null,
      bound: held.bound,
      revoke: area.target(call, '/user/revoke', subjectOf(userId, id)),
    }
  })
  return {
    authorizations: await Promise.all(views),
    nextUri: next === null ? null : uri('/user', { id: userId, after: next }),
  }
}
