/** Events as rows of a page: with the names of those whom they name by ids, and with the ways to them. */
import type { AuditEvent } from '../../../src/events.ts'
import { message, type Words } from '../../../src/protocol/message.ts'
import { wordsOf, toldBy } from './audit-words.ts'
import type { OwnArea } from '../area.ts'
import type { AuditRow, Party } from './audit-models.ts'
import { faceOf } from '../../pages/client-view.ts'

/** Longest name that a row shows. */
const LONGEST = 60

export async function auditRows(area: OwnArea, events: readonly AuditEvent[]): Promise<AuditRow[]> {
  return Promise.all(events.map(async (event) => rowOf(area, event)))
}

async function rowOf(area: OwnArea, event: AuditEvent): Promise<AuditRow> {
  const { id, at, type, user, client, address, requestId, count, actor } = event
  const who = await actorOf(area, actor)
  const about = await Promise.all([
    ...(user === undefined || user === actor.id ? [] : [userOf(area, user)]),
    ...(client === undefined || client === actor.id ? [] : [clientOf(area, client)]),
  ])
  return {
    id,
    time: new Date(at),
    type,
    what: wordsOf(type),
    count,
    who,
    about,
    address,
    requestId,
    requestUri: requestId === null ? null : area.uri('/audit', { request_id: requestId }),
    ...toldBy(event),
  }
}

async function actorOf(area: OwnArea, { kind, id }: AuditEvent['actor']): Promise<Party> {
  if (kind === 'user') return id === null ? plain(message('Somebody not signed in')) : userOf(area, id)
  if (kind === 'client') return id === null ? plain(message('A client')) : clientOf(area, id)
  if (kind === 'issuer') return plain(message('The issuer {issuer}', { issuer: shortened(id ?? '') }))
  if (kind === 'command')
    return plain(id === null ? message('Command line') : message('Command line, {account}', { account: id }))
  if (kind === 'setting') return plain(message('The setting {name}', { name: id ?? '' }))
  if (kind === 'seed') return plain(id === null ? 'SEED_FILE' : message('The demo'))
  return plain(message('The server'))
}

function plain(text: Words): Party {
  return { text, href: null }
}

async function userOf(area: OwnArea, id: string): Promise<Party> {
  const user = await area.oauth.findUser(id)
  return user === null ? plain(shortened(id)) : { text: shortened(user.username), href: area.userUri(id) }
}

async function clientOf(area: OwnArea, clientId: string): Promise<Party> {
  const client = await area.oauth.findClient(clientId)
  if (client === null) return plain(shortened(clientId))
  const text = shortened(faceOf(client).name)
  return { text, href: area.uri('/client', { client_id: clientId }) }
}

function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST).toWellFormed()}…` : text
}
