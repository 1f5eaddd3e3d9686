/** What tokens will name: the Authorization that comes of what a grant has established. */
import type { Client } from '../../doors/client.ts'
import type { Authorization, Granted } from '../../doors/facts.ts'
import { endOf } from '../../doors/parents.ts'
import { createUuid } from '../../protocol/uuid.ts'

/**
 * The one that is continued, as far as it is granted again; else a new one, which has an id where it will be stored. It
 * ends with what it was granted for, and nothing that goes on from it says otherwise. Throws where that is not possible.
 */
export function authorizationOf(granted: Granted, client: Client): Authorization {
  const { subject, continues } = granted
  const base = { ...granted, clientId: client.clientId }
  if (continues !== undefined) return { ...base, ...continued(granted, client, continues.authorization) }
  const notAfter = endOf(granted)
  const authorization = notAfter === undefined ? base : { ...base, notAfter }
  if (subject !== undefined) return { ...authorization, id: granted.id ?? createUuid() }
  if (granted.id === undefined) return authorization
  const { id: _ofNone, ...ofClient } = authorization
  return ofClient
}

/** What of it stands as it was stored. */
function continued(granted: Granted, client: Client, stored: Authorization): Partial<Authorization> {
  const { id, clientId, subject, createdAt, parent } = stored
  if (id === undefined || clientId !== client.clientId || subject !== granted.subject)
    throw new Error('only the client and the user of an Authorization can go on from it')
  const notAfter = earlier(endOf(stored), granted.notAfter)
  return {
    id,
    ...(createdAt === undefined ? {} : { createdAt }),
    ...(parent === undefined ? {} : { parent }),
    ...(notAfter === undefined ? {} : { notAfter }),
  }
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}
