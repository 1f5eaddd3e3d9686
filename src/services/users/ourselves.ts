/** The server itself in the place of a client: who asks where a page of ours needs to know who is there. */
import type { ApprovalRequest } from '../../doors/approval.ts'
import type { Client } from '../../doors/client.ts'
import type { Bag } from '../../protocol/bag.ts'

/** No client is registered under an empty id. */
export const OURSELVES: Client = Object.freeze({
  clientId: '',
  registeredAt: 0,
  grantableScopes: new Set<string>(),
  scope: [],
  grantTypes: new Set<string>(),
  authenticationMethod: undefined,
  metadata: Object.freeze({}),
  isPublic: () => false,
})
const NOTHING: ApprovalRequest = request({})

/** Asks for nothing but to know who is there; `parameters` may say how sure, such as `max_age`. */
export function ownRequest(parameters?: Bag): ApprovalRequest {
  return parameters === undefined ? NOTHING : request(parameters)
}

export function isOurs({ client }: ApprovalRequest): boolean {
  return client.clientId === OURSELVES.clientId
}

function request(parameters: Bag): ApprovalRequest {
  return { client: OURSELVES, scopes: new Set(), resources: [], parameters }
}
