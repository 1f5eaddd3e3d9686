/**
 * The modules of the OpenID Foundation's certification plans that the server is held to, by their own names. Each has
 * a check of ours under its name; `plan.ts` makes the tests from this list, so that none can be missing.
 */

const USERINFO = ['oidcc-userinfo-get', 'oidcc-userinfo-post-header', 'oidcc-userinfo-post-body'] as const
const SCOPES = [
  'oidcc-scope-profile',
  'oidcc-scope-email',
  'oidcc-scope-address',
  'oidcc-scope-phone',
  'oidcc-scope-all',
] as const
/** What a client asks for beside, and of whom. */
const HINTS = [
  'oidcc-display-page',
  'oidcc-display-popup',
  'oidcc-prompt-login',
  'oidcc-prompt-none-not-logged-in',
  'oidcc-prompt-none-logged-in',
  'oidcc-max-age-1',
  'oidcc-max-age-10000',
  'oidcc-ensure-request-with-unknown-parameter-succeeds',
  'oidcc-id-token-hint',
  'oidcc-login-hint',
  'oidcc-ui-locales',
  'oidcc-claims-locales',
  'oidcc-ensure-request-with-acr-values-succeeds',
] as const

const BASIC = [
  'oidcc-server',
  'oidcc-response-type-missing',
  'oidcc-idtoken-signature',
  'oidcc-idtoken-unsigned',
  ...USERINFO,
  'oidcc-ensure-request-without-nonce-succeeds-for-code-flow',
  ...SCOPES,
  'oidcc-alternate-happy-flow',
  ...HINTS,
  'oidcc-codereuse',
  'oidcc-codereuse-30seconds',
  'oidcc-ensure-registered-redirect-uri',
  'oidcc-ensure-post-request-succeeds',
  'oidcc-server-client-secret-post',
  'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported',
  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported',
  'oidcc-claims-essential',
  'oidcc-ensure-request-object-with-redirect-uri',
  'oidcc-refresh-token',
  'oidcc-ensure-request-with-valid-pkce-succeeds',
] as const

/** Of the implicit plan, for each of its response types. */
const IMPLICIT = [
  'oidcc-server',
  'oidcc-idtoken-signature',
  'oidcc-ensure-request-without-nonce-fails',
  ...SCOPES,
  'oidcc-ensure-other-scope-order-succeeds',
  ...HINTS,
  'oidcc-ensure-registered-redirect-uri',
  'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported',
  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported',
  'oidcc-ensure-request-object-with-redirect-uri',
  'oidcc-claims-essential',
] as const
const IMPLICIT_TOKEN = [...IMPLICIT, ...USERINFO, 'oidcc-response-type-missing'] as const

/** Of the hybrid plan, for each of its response types. */
const HYBRID = [
  'oidcc-server',
  'oidcc-idtoken-signature',
  ...USERINFO,
  ...SCOPES,
  ...HINTS,
  'oidcc-codereuse',
  'oidcc-codereuse-30seconds',
  'oidcc-ensure-registered-redirect-uri',
  'oidcc-server-client-secret-post',
  'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported',
  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported',
  'oidcc-claims-essential',
  'oidcc-ensure-request-object-with-redirect-uri',
  'oidcc-refresh-token',
] as const
const HYBRID_ID_TOKEN = [
  ...HYBRID,
  'oidcc-response-type-missing',
  'oidcc-ensure-request-without-nonce-fails',
  'oidcc-ensure-other-scope-order-succeeds',
  'oidcc-ensure-request-with-valid-pkce-succeeds',
] as const
const HYBRID_TOKEN = [...HYBRID, 'oidcc-ensure-request-without-nonce-succeeds-for-code-flow'] as const
const HYBRID_BOTH = [...HYBRID, 'oidcc-ensure-request-without-nonce-fails'] as const

/** The modules of a plan, in its order; of those that go through several response types, by each. */
export const PLANS = {
  'oidcc-config-certification-test-plan': ['oidcc-discovery-endpoint-verification'],
  'oidcc-basic-certification-test-plan': BASIC,
  // The same with response_mode=form_post.
  'oidcc-formpost-basic-certification-test-plan': BASIC,
  'oidcc-implicit-certification-test-plan id_token': IMPLICIT,
  'oidcc-implicit-certification-test-plan id_token token': IMPLICIT_TOKEN,
  'oidcc-hybrid-certification-test-plan code id_token': HYBRID_ID_TOKEN,
  'oidcc-hybrid-certification-test-plan code token': HYBRID_TOKEN,
  'oidcc-hybrid-certification-test-plan code id_token token': HYBRID_BOTH,
  'oidcc-formpost-implicit-certification-test-plan id_token': IMPLICIT,
  'oidcc-formpost-implicit-certification-test-plan id_token token': IMPLICIT_TOKEN,
  'oidcc-formpost-hybrid-certification-test-plan code id_token': HYBRID_ID_TOKEN,
  'oidcc-formpost-hybrid-certification-test-plan code token': HYBRID_TOKEN,
  'oidcc-formpost-hybrid-certification-test-plan code id_token token': HYBRID_BOTH,
  'oidcc-rp-initiated-logout-certification-test-plan': [
    'oidcc-rp-initiated-logout-discovery-endpoint-verification',
    'oidcc-rp-initiated-logout',
    'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri',
    'oidcc-rp-initiated-logout-modified-id-token-hint',
    'oidcc-rp-initiated-logout-no-id-token-hint',
    'oidcc-rp-initiated-logout-no-params',
    'oidcc-rp-initiated-logout-no-post-logout-redirect-uri',
    'oidcc-rp-initiated-logout-no-state',
    'oidcc-rp-initiated-logout-only-state',
    'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri',
    'oidcc-rp-initiated-logout-bad-id-token-hint',
  ],
  'oidcc-backchannel-rp-initiated-logout-certification-test-plan': [
    'oidcc-backchannel-logout-discovery-endpoint-verification',
    'oidcc-backchannel-rp-initiated-logout',
  ],
  'oidcc-frontchannel-rp-initiated-logout-certification-test-plan': [
    'oidcc-frontchannel-logout-discovery-endpoint-verification',
    'oidcc-frontchannel-rp-initiated-logout',
  ],
  'oidcc-session-management-certification-test-plan': [
    'oidcc-session-management-discovery-endpoint-verification',
    'oidcc-session-management-rp-initiated-logout',
  ],
  'oidcc-dynamic-certification-test-plan': [
    'oidcc-idtoken-rs256',
    'oidcc-idtoken-unsigned',
    'oidcc-userinfo-rs256',
    'oidcc-ensure-redirect-uri-in-authorization-request',
    'oidcc-redirect-uri-query-OK',
    'oidcc-redirect-uri-query-mismatch',
    'oidcc-redirect-uri-query-added',
    'oidcc-redirect-uri-regfrag',
    'oidcc-discovery-endpoint-verification',
    'oidcc-server',
    'oidcc-registration-logo-uri',
    'oidcc-registration-policy-uri',
    'oidcc-registration-tos-uri',
    'oidcc-registration-jwks-uri',
    'oidcc-registration-sector-uri',
    'oidcc-registration-sector-bad',
    'oidcc-server-rotate-keys',
    'oidcc-refresh-token-rp-key-rotation',
    'oidcc-request-uri-unsigned',
    'oidcc-request-uri-signed-rs256',
    'oidcc-ensure-request-object-with-redirect-uri',
    'oidcc-refresh-token',
    'oidcc-ensure-client-assertion-with-iss-aud-succeeds',
  ],
  'oidcc-3rdparty-init-login-certification-test-plan': [
    'oidcc-3rd_party-init-login',
    'oidcc-3rd_party-init-login-nohttps',
  ],
} as const

export type PlanName = keyof typeof PLANS
export type ModuleName<Name extends PlanName = PlanName> = (typeof PLANS)[Name][number]
