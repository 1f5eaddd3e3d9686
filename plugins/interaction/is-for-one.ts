/** Whether a request says whom it is for. */
import type { ApprovalRequest } from '../../src/doors/approval.ts'
import { requestedSubjects, type ClaimsRequest } from '../../src/protocol/claims-request.ts'

/** Whether it says which user it is for, so that nobody else's answer would do. */
export function isForOne({ user, parameters }: ApprovalRequest): boolean {
  const claims = parameters['claims'] as ClaimsRequest | undefined
  const subjects = claims === undefined ? undefined : requestedSubjects(claims)
  return user !== undefined || parameters['id_token_hint'] !== undefined || subjects !== undefined
}
