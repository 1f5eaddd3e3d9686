/** An Authorization as the server uses it, read from what the store holds. */
import type { Authorization } from '../../doors/facts.ts'
import type { AuthorizationRow } from '../../store/authorizations.ts'

export function toAuthorization(row: AuthorizationRow): Authorization {
  const { id, clientId, subject, scopes, resources, parameters, authentication, createdAt } = row
  const authenticated = authentication as unknown as Authorization['authentication'] | null
  return {
    id,
    clientId,
    subject,
    resources,
    parameters,
    scopes: new Set(scopes),
    createdAt: createdAt.getTime(),
    ...(authenticated ? { authentication: authenticated } : {}),
  }
}
