/** Authorizations as the server uses them, read from what the store holds. */
import type { Authorization } from '../doors.ts'
import type { AuthorizationRow } from '../store/authorizations.ts'

export function toAuthorization(row: AuthorizationRow): Authorization {
  const { id, clientId, subject, scopes, resources, parameters, authentication, createdAt } = row
  return {
    id, clientId, subject, resources, parameters,
    scopes: new Set(scopes),
    createdAt: createdAt.getTime(),
    ...(authentication ? { authentication: authentication as unknown as NonNullable<Authorization['authentication']> } : {}),
  } // prettier-ignore
}
