/** What pages of roles say in common: how many have one, and who keeps it. */
import { message, type Words } from '../../../src/protocol/message.ts'
import { MOST_COUNTED, type CountedRole, type Role } from '../../../src/services/users/role-lists.ts'
import { faceOf } from '../../pages/client-view.ts'
import type { OwnArea } from '../area.ts'
import type { DirectoryView } from './role-models.ts'

export function countOf({ members }: Pick<CountedRole, 'members'>): Words {
  return members > MOST_COUNTED ? message('more than {most}', { most: MOST_COUNTED }) : String(members)
}

export async function directoriesOf(
  { oauth, uri }: Pick<OwnArea, 'oauth' | 'uri'>,
  { directories }: Pick<Role, 'directories'>,
): Promise<DirectoryView[]> {
  return Promise.all(
    directories.map(async (clientId) => {
      const client = await oauth.findClient(clientId)
      const name = client === null ? clientId : faceOf(client).name
      return { name, uri: uri('/client', { client_id: clientId }) }
    }),
  )
}
