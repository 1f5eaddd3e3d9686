/**
 * The modules of the OpenID Foundation's FAPI-CIBA plan for authorization servers, in its order and by their names after `fapi-ciba-id1`. The
 * plan is run for clients that poll and such that are pinged, with each way to prove a client; which modules are then left is told by the
 * Foundation's code. Modules that belong to profiles of some country are left out.
 */

export const CIBA_PREFIX = 'fapi-ciba-id1'

/** The first is the module that is called by the prefix alone. */
export const CIBA_MODULES = [
  '',
  '-discovery-end-point-verification',
  '-user-rejects-authentication',
  '-multiple-call-to-token-endpoint',
  '-auth-req-id-expired',
  '-ensure-authorization-request-with-binding-message-succeeds',
  '-ensure-other-scope-order-succeeds',
  '-ensure-requested-expiry-as-string-succeeds',
  '-ensure-authorization-request-with-potentially-bad-binding-message',
  '-ensure-request-object-missing-aud-fails',
  '-ensure-request-object-bad-aud-fails',
  '-ensure-request-object-missing-iss-fails',
  '-ensure-request-object-bad-iss-fails',
  '-ensure-request-object-missing-exp-fails',
  '-ensure-request-object-expired-exp-fails',
  '-ensure-request-object-exp-is-70-minutes-in-future-fails',
  '-ensure-request-object-missing-iat-fails',
  '-ensure-request-object-missing-nbf-fails',
  '-ensure-request-object-nbf-is-10-minutes-in-future-fails',
  '-ensure-request-object-nbf-is-70-minutes-in-past-fails',
  '-ensure-request-object-missing-jti-fails',
  '-ensure-request-object-signature-algorithm-is-none-fails',
  '-ensure-request-object-signature-algorithm-is-bad-fails',
  '-ensure-request-object-signature-algorithm-is-RS256-fails',
  '-ensure-request-object-signed-by-other-client-fails',
  '-ensure-authorization-request-with-multiple-hints-fails',
  '-ensure-wrong-auth-req-id-in-token-endpoint-request',
  '-ensure-different-client-id-and-issuer-in-backchannel-authorization-request',
  '-ensure-wrong-client-id-in-token-endpoint-request',
  '-ensure-wrong-client-id-in-backchannel-authorization-request',
  '-ensure-without-client-assertion-in-token-endpoint-request',
  '-ensure-without-client-assertion-in-backchannel-authorization-request',
  '-ensure-client-assertion-signature-algorithm-in-backchannel-authorization-request-is-RS256-fails',
  '-ensure-client-assertion-signature-algorithm-in-token-endpoint-request-is-RS256-fails',
  '-ensure-client-assertion-with-iss-aud-to-token-endpoint-succeeds',
  '-ping-backchannel-notification-endpoint-response-has-body',
  '-ping-backchannel-notification-endpoint-response-401',
  '-ping-backchannel-notification-endpoint-response-403',
  '-ping-with-mtls-ciba-notification-endpoint-response-401-and-require-server-does-not-retry',
  '-ping-backchannel-notification-endpoint-return-redirect-request',
  '-ensure-unsigned-backchannel-authorization-request-fails',
  '-refresh-token',
  '-ensure-mtls-holder-of-key-required',
] as const

export type CibaModule = (typeof CIBA_MODULES)[number]

/** Of clients that are proven by their certificate. */
const CERTIFIED: readonly CibaModule[] = [
  '-ensure-different-client-id-and-issuer-in-backchannel-authorization-request',
  '-ensure-wrong-client-id-in-token-endpoint-request',
  '-ensure-wrong-client-id-in-backchannel-authorization-request',
]
/** Of clients that are proven by private_key_jwt. */
const ASSERTED: readonly CibaModule[] = [
  '-ensure-without-client-assertion-in-token-endpoint-request',
  '-ensure-without-client-assertion-in-backchannel-authorization-request',
  '-ensure-client-assertion-signature-algorithm-in-backchannel-authorization-request-is-RS256-fails',
  '-ensure-client-assertion-signature-algorithm-in-token-endpoint-request-is-RS256-fails',
  '-ensure-client-assertion-with-iss-aud-to-token-endpoint-succeeds',
]
const isPing = (module: CibaModule): boolean => module.startsWith('-ping-')

/** By what is chosen at the Foundation's suite. */
export const CIBA_PLANS = [
  'fapi-ciba-id1-test-plan private_key_jwt poll plain_fapi',
  'fapi-ciba-id1-test-plan private_key_jwt ping plain_fapi',
  'fapi-ciba-id1-test-plan mtls poll plain_fapi',
  'fapi-ciba-id1-test-plan mtls ping plain_fapi',
] as const

export type CibaPlan = (typeof CIBA_PLANS)[number]

export interface CibaVariant {
  readonly authentication: 'private_key_jwt' | 'mtls'
  readonly mode: 'poll' | 'ping'
}

export function cibaVariantOf(plan: CibaPlan): CibaVariant {
  const [, authentication, mode] = plan.split(' ') as [
    string,
    CibaVariant['authentication'],
    CibaVariant['mode'],
  ]
  return { authentication, mode }
}

/** The modules of a plan. */
export function cibaModulesOf(plan: CibaPlan): CibaModule[] {
  const { authentication, mode } = cibaVariantOf(plan)
  const left = authentication === 'mtls' ? ASSERTED : CERTIFIED
  return CIBA_MODULES.filter((module) => !left.includes(module) && (mode === 'ping' || !isPing(module)))
}
