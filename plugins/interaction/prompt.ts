/** `prompt` of a request (OpenID Connect Core §3.1.2.1), as `plugins/openid.ts` has made a list of it; none where nobody reads it. */
import type { ApprovalRequest } from '../../src/doors/approval.ts'

export function promptsOf({ parameters }: Pick<ApprovalRequest, 'parameters'>): readonly string[] {
  return (parameters['prompt'] as readonly string[] | undefined) ?? []
}
