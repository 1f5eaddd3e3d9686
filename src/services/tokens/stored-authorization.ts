/** An Authorization as the server uses it, and as the store holds it. */
import type { Authorization } from '../../doors/facts.ts'
import { grantedFromJson, grantedToJson } from '../../doors/stored-facts.ts'
import type { AUTHORIZATION, AuthorizationRow } from '../../store/authorization-row.ts'
import type { Given } from '../../store/parameters.ts'

export function toAuthorization(row: AuthorizationRow): Authorization {
  const { id, clientId, createdAt } = row
  return { ...grantedFromJson(row), id, clientId, createdAt: createdAt.getTime() }
}

/** A new one, for these resources. It is all that was approved, whatever less the first access token is for. */
export function toRow(
  authorization: Authorization,
  resources: readonly string[],
): Given<keyof typeof AUTHORIZATION> {
  const { id, clientId, approvedParameters, parameters = {} } = authorization
  return {
    ...grantedToJson(authorization),
    id,
    clientId,
    resources,
    parameters: approvedParameters ?? parameters,
  }
}
