/**
 * Checks that the server makes, and the module of the ledger that must turn red once one of them is gone. `npm run test:guards`
 * takes each out of a copy; that the texts still stand where they are said to stand is for `guards.test.ts`.
 */
import { CIBA_PREFIX } from './fapi-ciba/ledger.ts'
import { PREFIX } from './fapi/ledger.ts'
import { SSF_PREFIX } from './ssf/ledger.ts'

export interface Guard {
  /** From the root of the repository. */
  readonly file: string
  /** Stands there once. */
  readonly text: string
  /** What stands in its place, so that the check is gone. */
  readonly without: string
  readonly module: string
  /** The file of the plan, in this folder. */
  readonly plan: string
}

const SECURITY_PROFILE = 'fapi2-security-profile.test.ts'
const MESSAGE_SIGNING = 'fapi2-message-signing.test.ts'
const FAPI_CIBA = 'fapi-ciba.test.ts'
const SSF = 'ssf-transmitter.test.ts'

export const GUARDS: readonly Guard[] = [
  {
    file: 'plugins/requests/par.ts',
    text: "if (wire['request_uri'] !== undefined)",
    without: 'if (false)',
    module: `${PREFIX}par-authorization-request-containing-request_uri-form-param`,
    plan: SECURITY_PROFILE,
  },
  {
    file: 'plugins/requests/par.ts',
    text: 'pushed.until <= Date.now()',
    without: 'false',
    module: `${PREFIX}par-attempt-to-use-expired-request_uri`,
    plan: SECURITY_PROFILE,
  },
  {
    file: 'plugins/requests/par.ts',
    text: 'spends: [...spends, { kind: KIND, handle }]',
    without: 'spends',
    module: `${PREFIX}par-attempt-reuse-request_uri`,
    plan: SECURITY_PROFILE,
  },
  {
    file: 'plugins/requests/par.ts',
    text: 'must && !sources.includes(PUSHED)',
    without: 'must && sources.includes("")',
    module: `${PREFIX}ensure-unsigned-authorization-request-without-using-par-fails`,
    plan: SECURITY_PROFILE,
  },
  {
    file: 'plugins/authorize/code.ts',
    text: "client.metadata['require_pkce'] === true",
    without: 'false',
    module: `${PREFIX}par-ensure-pkce-required`,
    plan: SECURITY_PROFILE,
  },
  {
    file: 'plugins/authorize/code.ts',
    text: "method !== 'S256'",
    without: 'false',
    module: `${PREFIX}par-plain-pkce-rejected`,
    plan: SECURITY_PROFILE,
  },
  {
    file: 'plugins/token/grants/authorization-code.ts',
    text: 'expected.length !== actual.length || !timingSafeEqual(expected, actual)',
    without: 'expected.length !== actual.length',
    module: `${PREFIX}incorrect-pkce-code-verifier-rejected`,
    plan: SECURITY_PROFILE,
  },
  {
    file: 'plugins/token/grants/authorization-code.ts',
    text: '|| !isOfClient(found.clientId, found.createdAt, client)',
    without: '|| !isOfClient(client.clientId, found.createdAt, client)',
    module: `${PREFIX}ensure-authorization-code-is-bound-to-client`,
    plan: SECURITY_PROFILE,
  },
  {
    file: 'plugins/profiles/fapi.ts',
    text: 'issuerAlone: true',
    without: 'issuerAlone: false',
    module: `${PREFIX}par-test-token-endpoint-url-as-audience-fails`,
    plan: SECURITY_PROFILE,
  },
  {
    file: 'plugins/client-authentication/client-assertions.ts',
    text: 'only.includes(algorithm)',
    without: 'only.length > 0',
    module: `${PREFIX}ensure-signed-client-assertion-with-RS256-fails`,
    plan: SECURITY_PROFILE,
  },
  {
    file: 'plugins/require-scope/dpop/proofs.ts',
    text: "ath !== hash('sha256', token, 'base64url')",
    without: 'ath === token',
    module: `${PREFIX}dpop-negative-tests`,
    plan: SECURITY_PROFILE,
  },
  {
    file: 'plugins/require-scope/mutual-tls/mutual-tls.ts',
    text: 'shown.thumbprint !== confirmation',
    without: 'shown.thumbprint === ""',
    module: `${PREFIX}happy-flow`,
    plan: SECURITY_PROFILE,
  },
  {
    file: 'src/protocol/signed-jwt.ts',
    text: 'Number(exp) - Number(nbf) > longest || Number(nbf) < oldest',
    without: 'Number(nbf) < oldest',
    module: `${PREFIX}ensure-request-object-with-exp-over-60-fails`,
    plan: MESSAGE_SIGNING,
  },
  {
    file: 'src/services/clients/client-keys.ts',
    text: "if (!isGood) throw new JwtError('its signature is not good')",
    without: '',
    module: `${PREFIX}ensure-request-object-with-invalid-signature-fails`,
    plan: MESSAGE_SIGNING,
  },
  {
    file: 'src/protocol/redirect-uri.ts',
    text: 'if (registered.includes(sent)) return true',
    without: 'if (registered.some((one) => sent.startsWith(one))) return true',
    module: 'oidcc-ensure-registered-redirect-uri',
    plan: 'basic.test.ts',
  },
  {
    file: 'plugins/openid.ts',
    text: 'hint === null || ![hint.aud].flat().includes(client.clientId)',
    without: 'hint === undefined',
    module: 'oidcc-id-token-hint',
    plan: 'basic.test.ts',
  },
  {
    file: 'plugins/sign-out/end-session/index.ts',
    text: 'if (jwt !== undefined && hint === null) throw new UnknownHint(jwt)',
    without: '',
    module: 'oidcc-rp-initiated-logout-bad-id-token-hint',
    plan: 'rp-initiated-logout.test.ts',
  },
  {
    file: 'src/protocol/redirect-uri.ts',
    text: "if (uri.includes('#'))",
    without: 'if (false)',
    module: 'oidcc-redirect-uri-regfrag',
    plan: 'dynamic.test.ts',
  },
  {
    file: 'plugins/token/grants/ciba/signed-requests.ts',
    text: 'if (request === undefined && algorithm === undefined) return wire',
    without: 'if (request === undefined) return wire',
    module: `${CIBA_PREFIX}-ensure-unsigned-backchannel-authorization-request-fails`,
    plan: FAPI_CIBA,
  },
  {
    file: 'plugins/token/grants/ciba/signed-requests.ts',
    text: "required: ['exp', 'iat', 'nbf', 'jti']",
    without: "required: ['exp', 'nbf', 'jti']",
    module: `${CIBA_PREFIX}-ensure-request-object-missing-iat-fails`,
    plan: FAPI_CIBA,
  },
  {
    file: 'plugins/token/grants/ciba/signed-requests.ts',
    text: 'assertBounded(claims, LONGEST)',
    without: '',
    module: `${CIBA_PREFIX}-ensure-request-object-nbf-is-70-minutes-in-past-fails`,
    plan: FAPI_CIBA,
  },
  {
    file: 'plugins/token/grants/ciba/hints.ts',
    text: 'if (kind === undefined || sent.length > 1)',
    without: 'if (kind === undefined)',
    module: `${CIBA_PREFIX}-ensure-authorization-request-with-multiple-hints-fails`,
    plan: FAPI_CIBA,
  },
  {
    file: 'plugins/token/grants/ciba/grant.ts',
    text: '|| !isOfClient(request.approval.client, request.askedAt, client)',
    without: '',
    module: `${CIBA_PREFIX}-ensure-wrong-auth-req-id-in-token-endpoint-request`,
    plan: FAPI_CIBA,
  },
  {
    file: 'plugins/token/grants/ciba/grant.ts',
    text: "assertBound(shown, client, NOTHING_MORE, () => doors.all('senderConstraint'))",
    without: '',
    module: `${CIBA_PREFIX}-ensure-mtls-holder-of-key-required`,
    plan: FAPI_CIBA,
  },
  {
    file: 'plugins/token/grants/ciba/ping.ts',
    text: 'throw status < 500 && status !== 429 ? new Undeliverable(words) : new Error(words)',
    without: 'throw new Error(words)',
    module: `${CIBA_PREFIX}-ping-backchannel-notification-endpoint-response-401`,
    plan: FAPI_CIBA,
  },
  {
    file: 'plugins/profiles/fapi-ciba.ts',
    text: 'narrow: (client) => (isHeld(client) ? { algorithms: ALGORITHMS } : undefined)',
    without: 'narrow: () => undefined',
    module: `${CIBA_PREFIX}-ensure-client-assertion-signature-algorithm-in-token-endpoint-request-is-RS256-fails`,
    plan: FAPI_CIBA,
  },
  {
    file: 'plugins/require-scope/presentation.ts',
    text: "throw new BearerError('invalid_token', 'The access token is malformed')",
    without: "throw malformed('The access token is malformed')",
    module: `${SSF_PREFIX}stream-control-error-delete-stream-with-invalid-token`,
    plan: SSF,
  },
  {
    file: 'plugins/shared-signals/delivery.ts',
    text: 'return address\n',
    without: 'return url.href\n',
    module: `${SSF_PREFIX}stream-control-happy-path`,
    plan: SSF,
  },
  {
    file: 'plugins/shared-signals/stream.ts',
    text: 'requested.includes(type)',
    without: 'requested.length > 0 || type !== ""',
    module: `${SSF_PREFIX}transmitter-stream-caep-interop`,
    plan: SSF,
  },
  {
    file: 'plugins/shared-signals/configuration.ts',
    text: 'isWhole ? undefined : stream',
    without: 'stream',
    module: `${SSF_PREFIX}stream-control-happy-path`,
    plan: SSF,
  },
  {
    file: 'plugins/shared-signals/verification.ts',
    text: 'state === undefined ? {} : { state }',
    without: '{}',
    module: `${SSF_PREFIX}transmitter-stream-verification-push`,
    plan: SSF,
  },
  {
    file: 'plugins/shared-signals/sets.ts',
    text: "typ: 'secevent+jwt'",
    without: "typ: 'JWT'",
    module: `${SSF_PREFIX}transmitter-stream-verification-poll-only`,
    plan: SSF,
  },
]
