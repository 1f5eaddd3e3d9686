/** A client as the administration names it: one that has registered itself as people see it, and not as it calls itself. */
import type { ClientInformation } from '../../../src/protocol/client-metadata.ts'
import { faceOf } from '../../pages/client-view.ts'
import type { OwnArea } from '../area.ts'

export interface ClientFace {
  name: string
  /** What one that has registered itself calls itself; null for others, and for none. */
  claim: string | null
  byItself: boolean
}

export async function findFace(
  { oauth }: OwnArea,
  { client_id: clientId = '', client_name: name = clientId }: ClientInformation,
): Promise<ClientFace> {
  const client = await oauth.findClient(clientId)
  if (client === null) return { name, claim: null, byItself: false }
  return { ...faceOf(client), byItself: client.registrar !== undefined }
}
