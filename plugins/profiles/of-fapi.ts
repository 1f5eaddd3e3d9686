/** What the profiles of FAPI have in common: how answers are signed, and where people are led. */
import type { Choice } from '../../src/doors/profile.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { metadataError } from '../../src/protocol/errors.ts'
import { reason } from '../../src/protocol/message.ts'

/** Where nothing is registered, these would be signed with RS256 (JARM §3, RFC 9701 §6). */
export function signedAnswers(algorithms: readonly string[]): Record<string, Choice> {
  const signed = (supported: string): Choice => ({
    among: algorithms,
    optional: true,
    supported: [supported],
    fallback: 'ES256',
  })
  return {
    authorization_signed_response_alg: signed('authorization_signing_alg_values_supported'),
    introspection_signed_response_alg: signed('introspection_signing_alg_values_supported'),
  }
}

/** Throws `invalid_redirect_uri` for one without https. */
export function assertSecureAddresses(profile: string, { redirect_uris: uris = [] }: Bag): void {
  if (!(uris as readonly string[]).every((uri) => uri.startsWith('https:')))
    throw metadataError(
      'redirect_uris',
      reason('must use https: the profile {profile} needs it', { profile }),
    )
}
