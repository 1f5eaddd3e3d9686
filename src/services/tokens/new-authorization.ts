/** What tokens will name: the Authorization that comes of what a grant has established. */
import type { Client } from '../../doors/client.ts'
import type { Authorization, Granted } from '../../doors/facts.ts'
import { endOf } from '../../doors/parents.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { createUuid } from '../../protocol/uuid.ts'
import type { SubjectOf } from './subjects.ts'

/**
 * The one that is continued, as far as it is granted again; else a new one, which has an id where it will be stored. It
 * ends with what it was granted for, and nothing that goes on from it says otherwise. Throws where that is not possible, and
 * `invalid_grant` where the client would know the user by another `sub` than it was told at first (OpenID Connect Core §12.2).
 */
export function authorizationOf(granted: Granted, client: Client, subjectOf: SubjectOf): Authorization {
  const { subject, authentication, continues } = granted
  const base = { ...granted, clientId: client.clientId }
  if (continues !== undefined) {
    const known = continues.authorization.authentication?.sub
    if (known !== undefined && known !== subjectOf(subject!, client))
      throw new OAuthError('invalid_grant', 'the user has another sub at the client by now')
    return { ...base, ...continued(granted, client, continues.authorization) }
  }
  const notAfter = endOf(granted)
  const authorization = notAfter === undefined ? base : { ...base, notAfter }
  if (subject !== undefined)
    return {
      ...authorization,
      id: granted.id ?? createUuid(),
      // What another client knew them by says nothing here.
      ...(authentication && { authentication: { ...authentication, sub: subjectOf(subject, client) } }),
    }
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
