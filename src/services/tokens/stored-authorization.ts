/** An Authorization as the server uses it, and as the store holds it. */
import type { Authorization } from '../../doors/facts.ts'
import { grantedFromJson, grantedToJson } from '../../doors/stored-facts.ts'
import type { AUTHORIZATION, AuthorizationRow } from '../../store/authorization-row.ts'
import type { Given } from '../../store/parameters.ts'

export function toAuthorization(row: AuthorizationRow): Authorization {
  const { id, clientId, createdAt } = row
  return { ...grantedFromJson(row), id, clientId, createdAt: createdAt.getTime() }
}

/** A new one, for these resources. */
export function toRow(
  authorization: Authorization,
  resources: readonly string[],
): Given<keyof typeof AUTHORIZATION> {
  const { id, clientId, parameters = {} } = authorization
  return { ...grantedToJson(authorization), id, clientId, resources, parameters }
}
