/**
 * The modules of the OpenID Foundation's FAPI 2.0 plans for authorization servers, in their order and by their names after
 * `fapi2-security-profile-final-`. A plan is run with each way to prove a client and to bind a token; what it then has of them is
 * computed as the Foundation's code does it. Modules that belong to profiles of some country are left out.
 */

export const PREFIX = 'fapi2-security-profile-final-'

/** All of them: those of message signing with signed requests, by private_key_jwt and DPoP, for OpenID Connect. */
export const FAPI_MODULES = [
  'discovery-end-point-verification',
  'happy-flow',
  'user-rejects-authentication',
  'ensure-request-object-with-multiple-aud-succeeds',
  'ensure-authorization-request-without-state-success',
  'ensure-authorization-request-without-nonce-success',
  'ensure-authorization-request-with-64-char-nonce-success',
  'ensure-other-scope-order-succeeds',
  'test-claims-parameter-identity-claims',
  'access-token-type-header-case-sensitivity',
  'ensure-request-object-with-nbf-8-seconds-in-the-future-is-accepted',
  'check-dpop-proof-nbf-exp',
  'ensure-dpopproof-with-iat-10seconds-before-succeeds',
  'ensure-dpopproof-with-iat-10seconds-after-succeeds',
  'ensure-mismatched-dpop-jkt-fails',
  'ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt',
  'ensure-token-endpoint-fails-with-mismatched-dpop-jkt',
  'ensure-dpopproof-at-par-endpoint-binding-success',
  'ensure-dpop-auth-code-binding-success',
  'ensure-different-nonce-inside-and-outside-request-object',
  'ensure-different-state-inside-and-outside-request-object',
  'ensure-authorization-request-with-long-nonce',
  'ensure-authorization-request-with-long-state',
  'ensure-request-object-without-exp-fails',
  'ensure-request-object-without-nbf-fails',
  'state-only-outside-request-object-not-used',
  'ensure-request-object-without-redirect-uri-fails',
  'ensure-expired-request-object-fails',
  'ensure-request-object-with-bad-aud-fails',
  'ensure-request-object-with-exp-over-60-fails',
  'ensure-request-object-with-nbf-over-60-fails',
  'ensure-signed-request-object-with-RS256-fails',
  'ensure-request-object-signature-algorithm-is-not-none',
  'ensure-request-object-with-invalid-signature-fails',
  'ensure-matching-key-in-authorization-request',
  'ensure-unsigned-request-at-par-endpoint-fails',
  'plain-fapi-tolerate-unregistered-redirect-uri',
  'ensure-unsigned-authorization-request-without-using-par-fails',
  'ensure-redirect-uri-in-authorization-request',
  'ensure-response-type-code-idtoken-fails',
  'ensure-response-type-token-fails',
  'ensure-client-id-in-token-endpoint',
  'ensure-holder-of-key-required',
  'ensure-authorization-code-is-bound-to-client',
  'attempt-reuse-authorization-code-after-one-second',
  'ensure-token-endpoint-fails-with-expired-auth-code',
  'ensure-signed-client-assertion-with-RS256-fails',
  'ensure-client-assertion-in-token-endpoint',
  'ensure-client-assertion-with-exp-is-5-minutes-in-past-fails',
  'ensure-client-assertion-with-wrong-aud-fails',
  'ensure-client-assertion-with-no-sub-fails',
  'dpop-negative-tests',
  'refresh-token',
  'par-ensure-reused-request-uri-prior-to-auth-completion-succeeds',
  'par-attempt-reuse-request_uri',
  'par-attempt-to-use-expired-request_uri',
  'par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted',
  'par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails',
  'par-attempt-to-use-request_uri-for-different-client',
  'par-authorization-request-containing-request_uri-form-param',
  'par-attempt-invalid-http-method',
  'par-ensure-pkce-required',
  'ensure-pkce-code-verifier-required',
  'incorrect-pkce-code-verifier-rejected',
  'par-plain-pkce-rejected',
  'par-authorization-request-containing-request_uri',
  'par-without-duplicate-parameters',
  'par-test-array-as-audience-fails',
  'par-test-par-endpoint-url-as-audience-fails',
  'par-test-token-endpoint-url-as-audience-fails',
] as const

export type FapiModule = (typeof FAPI_MODULES)[number]

/** Of signed requests alone. */
const SIGNED: readonly FapiModule[] = [
  'ensure-request-object-with-multiple-aud-succeeds',
  'ensure-request-object-with-nbf-8-seconds-in-the-future-is-accepted',
  'ensure-request-object-without-exp-fails',
  'ensure-request-object-without-nbf-fails',
  'ensure-expired-request-object-fails',
  'ensure-request-object-with-bad-aud-fails',
  'ensure-request-object-with-exp-over-60-fails',
  'ensure-request-object-with-nbf-over-60-fails',
  'ensure-signed-request-object-with-RS256-fails',
  'ensure-request-object-signature-algorithm-is-not-none',
  'ensure-request-object-with-invalid-signature-fails',
  'ensure-matching-key-in-authorization-request',
  'ensure-unsigned-request-at-par-endpoint-fails',
  'par-authorization-request-containing-request_uri',
]
/** Of OpenID Connect alone. */
const OPENID: readonly FapiModule[] = [
  'ensure-authorization-request-without-nonce-success',
  'ensure-authorization-request-with-64-char-nonce-success',
  'ensure-other-scope-order-succeeds',
  'test-claims-parameter-identity-claims',
  'ensure-different-nonce-inside-and-outside-request-object',
  'ensure-authorization-request-with-long-nonce',
]
/** Of tokens that are bound by DPoP. */
const DPOP: readonly FapiModule[] = [
  'check-dpop-proof-nbf-exp',
  'ensure-dpopproof-with-iat-10seconds-before-succeeds',
  'ensure-dpopproof-with-iat-10seconds-after-succeeds',
  'ensure-mismatched-dpop-jkt-fails',
  'ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt',
  'ensure-token-endpoint-fails-with-mismatched-dpop-jkt',
  'ensure-dpopproof-at-par-endpoint-binding-success',
  'ensure-dpop-auth-code-binding-success',
  'dpop-negative-tests',
]
/** Of clients that are proven by private_key_jwt. */
const ASSERTED: readonly FapiModule[] = [
  'ensure-signed-client-assertion-with-RS256-fails',
  'ensure-client-assertion-in-token-endpoint',
  'ensure-client-assertion-with-exp-is-5-minutes-in-past-fails',
  'ensure-client-assertion-with-wrong-aud-fails',
  'ensure-client-assertion-with-no-sub-fails',
  'par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted',
  'par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails',
  'par-test-array-as-audience-fails',
  'par-test-par-endpoint-url-as-audience-fails',
  'par-test-token-endpoint-url-as-audience-fails',
]
/** All that is left where no person is asked, and no request pushed. */
const CLIENT_CREDENTIALS: readonly FapiModule[] = [
  'discovery-end-point-verification',
  'happy-flow',
  'access-token-type-header-case-sensitivity',
  'check-dpop-proof-nbf-exp',
  'ensure-dpopproof-with-iat-10seconds-before-succeeds',
  'ensure-dpopproof-with-iat-10seconds-after-succeeds',
  'ensure-client-id-in-token-endpoint',
  'ensure-holder-of-key-required',
  ...ASSERTED.filter((module) => !module.startsWith('par-')),
  'dpop-negative-tests',
]

/** By what is chosen at the Foundation's suite: how clients are proven and tokens bound, what is asked for, and how. */
export const FAPI_PLANS = [
  'fapi2-security-profile-final-test-plan private_key_jwt dpop openid_connect plain_fapi',
  'fapi2-security-profile-final-test-plan private_key_jwt mtls openid_connect plain_fapi',
  'fapi2-security-profile-final-test-plan mtls dpop openid_connect plain_fapi',
  'fapi2-security-profile-final-test-plan mtls mtls openid_connect plain_fapi',
  'fapi2-security-profile-final-test-plan private_key_jwt dpop plain_oauth plain_fapi',
  'fapi2-security-profile-final-test-plan private_key_jwt mtls plain_oauth plain_fapi',
  'fapi2-security-profile-final-test-plan mtls dpop plain_oauth plain_fapi',
  'fapi2-security-profile-final-test-plan mtls mtls plain_oauth plain_fapi',
  'fapi2-security-profile-final-test-plan private_key_jwt dpop plain_oauth fapi_client_credentials_grant',
  'fapi2-security-profile-final-test-plan private_key_jwt mtls plain_oauth fapi_client_credentials_grant',
  'fapi2-security-profile-final-test-plan mtls dpop plain_oauth fapi_client_credentials_grant',
  'fapi2-security-profile-final-test-plan mtls mtls plain_oauth fapi_client_credentials_grant',
  'fapi2-message-signing-final-test-plan private_key_jwt dpop openid_connect signed_non_repudiation jarm',
  'fapi2-message-signing-final-test-plan private_key_jwt mtls openid_connect signed_non_repudiation plain_response',
  'fapi2-message-signing-final-test-plan mtls dpop plain_oauth unsigned jarm',
  'fapi2-message-signing-final-test-plan mtls mtls plain_oauth signed_non_repudiation jarm',
] as const

export type FapiPlan = (typeof FAPI_PLANS)[number]

export interface Variant {
  readonly authentication: 'private_key_jwt' | 'mtls'
  readonly constraint: 'dpop' | 'mtls'
  readonly isOpenid: boolean
  /** Whether the client gets tokens for itself alone. */
  readonly isOwn: boolean
  /** Whether its requests are signed. */
  readonly signs: boolean
  /** Whether the answers to them are. */
  readonly isAnsweredInJwt: boolean
}

export function variantOf(plan: FapiPlan): Variant {
  const [, authentication, constraint, , ...chosen] = plan.split(' ')
  return {
    authentication: authentication as Variant['authentication'],
    constraint: constraint as Variant['constraint'],
    isOpenid: plan.includes('openid_connect'),
    isOwn: chosen.includes('fapi_client_credentials_grant'),
    signs: chosen.includes('signed_non_repudiation'),
    isAnsweredInJwt: chosen.includes('jarm'),
  }
}

/** The modules of a plan. */
export function modulesOf(plan: FapiPlan): FapiModule[] {
  const { authentication, constraint, isOpenid, isOwn, signs } = variantOf(plan)
  const left = [
    ...(signs ? [] : SIGNED),
    ...(isOpenid ? [] : OPENID),
    ...(constraint === 'dpop' ? [] : DPOP),
    ...(authentication === 'private_key_jwt' ? [] : ASSERTED),
  ]
  return FAPI_MODULES.filter(
    (module) => !left.includes(module) && (!isOwn || CLIENT_CREDENTIALS.includes(module)),
  )
}
