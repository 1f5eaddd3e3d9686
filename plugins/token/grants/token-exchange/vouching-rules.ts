/** What rules of a client must say where they let it be vouched for at other servers (ID-JAG). */
import type { Bag } from '../../../../src/protocol/bag.ts'
import { metadataError } from '../../../../src/protocol/errors.ts'
import type { ExchangeRule } from '../../../../src/protocol/exchange-rules.ts'
import { reason } from '../../../../src/protocol/message.ts'

/** Throws `invalid_client_metadata` for a rule with `audiences` of which nothing could come. */
export function assertVouchingRules(metadata: Bag): void {
  const { client_id: clientId, token_exchange: rules = [], subject_type: type } = metadata
  for (const rule of rules as readonly ExchangeRule[]) {
    const { audiences, subject_clients: subjects = [] } = rule
    if (audiences === undefined) continue
    // Draft-ietf-oauth-identity-assertion-authz-grant §4.3: nobody is vouched for by what another client got.
    if (!subjects.includes(clientId as string))
      throw metadataError(
        'token_exchange',
        reason('must name the client itself in subject_clients where a rule has audiences'),
      )
    if (rule.audience_client === undefined && !isPublic(metadata))
      throw metadataError(
        'token_exchange',
        reason('must name an audience_client where a rule has audiences and the subject_type is {type}', {
          type: String(type),
        }),
      )
  }
}

/** Whether others know its users by the same `sub` (OpenID Connect Core §8). */
export function isPublic({ subject_type: type = 'public' }: Bag): boolean {
  return type === 'public'
}
