/**
 * The modules of the OpenID Foundation's plans for transmitters of the Shared Signals Framework, in its order and by their names after `openid-ssf-`. A
 * plan is run for each way of delivery, alone and held to the CAEP Interoperability Profile; which modules are then left is told by the Foundation's code.
 */

export const SSF_PREFIX = 'openid-ssf-'

export const SSF_MODULES = [
  'transmitter-metadata',
  'stream-control-error-read-stream-without-token',
  'stream-control-error-token-in-uri-query',
  'stream-control-error-create-stream-with-read-only-token',
  'stream-control-error-read-stream-status-with-invalid-token',
  'stream-control-error-read-status-of-unknown-stream',
  'transmitter-stream-verification-error-invalid-body',
  'transmitter-stream-verification-error-invalid-token',
  'transmitter-stream-verification-error-unknown-stream',
  'transmitter-poll-endpoint-authorization',
  'stream-control-happy-path',
  'stream-control-create-stream-without-delivery',
  'stream-control-error-create-stream-with-broken-input',
  'stream-control-error-create-stream-with-invalid-token',
  'stream-control-error-create-stream-with-duplicate-config',
  'stream-control-error-read-stream-with-invalid-token',
  'stream-control-error-read-unknown-stream',
  'stream-control-error-update-stream-with-invalid-token',
  'stream-control-error-update-stream-with-invalid-body',
  'stream-control-error-update-unknown-stream',
  'stream-control-error-replace-stream-with-invalid-body',
  'stream-control-error-replace-stream-with-invalid-token',
  'stream-control-error-replace-unknown-stream',
  'stream-control-error-delete-stream-with-invalid-token',
  'stream-control-error-delete-unknown-stream',
  'stream-subject-control',
  'transmitter-stream-verification-push',
  'transmitter-stream-verification-poll-only',
  'transmitter-stream-verification-poll-and-ack',
  'transmitter-stream-verification-ack-only',
  'transmitter-stream-verification-long-poll',
  'transmitter-stream-verification-set-errs',
  'transmitter-stream-verification-error-push-no-auth',
  'transmitter-paused-stream-holds-events',
  'transmitter-disabled-stream-drops-events',
  'transmitter-poll-endpoint-url-unique-per-stream',
  'transmitter-stream-caep-interop',
] as const

export type SsfModule = (typeof SSF_MODULES)[number]

/** Of streams whose events are pushed. */
const PUSHED: readonly SsfModule[] = [
  'transmitter-stream-verification-push',
  'transmitter-stream-verification-error-push-no-auth',
]
/** Of streams whose events are asked for. */
const POLLED: readonly SsfModule[] = [
  'transmitter-poll-endpoint-authorization',
  'stream-control-create-stream-without-delivery',
  'transmitter-stream-verification-poll-only',
  'transmitter-stream-verification-poll-and-ack',
  'transmitter-stream-verification-ack-only',
  'transmitter-stream-verification-long-poll',
  'transmitter-stream-verification-set-errs',
  'transmitter-poll-endpoint-url-unique-per-stream',
]
/** What the profile does not ask for. */
const isBeyondProfile = (module: SsfModule): boolean =>
  /-(?:update|replace)-|^stream-subject-control$|-(?:paused|disabled)-stream-/.test(module)

/** By what is chosen at the Foundation's suite. */
export const SSF_PLANS = [
  'openid-ssf-transmitter-test-plan push default',
  'openid-ssf-transmitter-test-plan poll default',
  'openid-ssf-transmitter-caep-test-plan push caep_interop',
  'openid-ssf-transmitter-caep-test-plan poll caep_interop',
] as const

export type SsfPlan = (typeof SSF_PLANS)[number]

export interface SsfVariant {
  readonly mode: 'push' | 'poll'
  readonly isInterop: boolean
}

export function ssfVariantOf(plan: SsfPlan): SsfVariant {
  const [, mode, profile] = plan.split(' ')
  return { mode: mode as SsfVariant['mode'], isInterop: profile === 'caep_interop' }
}

/** The modules of a plan. */
export function ssfModulesOf(plan: SsfPlan): SsfModule[] {
  const { mode, isInterop } = ssfVariantOf(plan)
  const left = mode === 'push' ? POLLED : PUSHED
  return SSF_MODULES.filter(
    (module) =>
      !left.includes(module) &&
      (isInterop ? !isBeyondProfile(module) : module !== 'transmitter-stream-caep-interop'),
  )
}
