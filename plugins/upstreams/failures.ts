/** What goes wrong with an upstream: for people one of three, for the log its cause. */
import { OutboundError } from '../../src/doors/outbound.ts'

export type Failure = 'denied' | 'unreachable' | 'unusable'

/** Nobody is proven; `failure` is for people, the cause for the log. */
export class UpstreamFailure extends Error {
  readonly failure: Failure
  /** Whether its answer is an error (RFC 6749 §4.1.2.1), of which it is not asked any more. */
  readonly isRefusal: boolean
  /** Whether that says of what it was asked that it cannot be asked. */
  readonly isOfRequest: boolean

  constructor(failure: Failure, cause: unknown) {
    super(`the upstream's answer is ${failure}`, { cause })
    this.failure = failure
    const { code, error } = (cause ?? {}) as { code?: unknown; error?: unknown }
    this.isRefusal = code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR'
    this.isOfRequest = this.isRefusal && error === 'invalid_request'
  }
}

/** Throws `UpstreamFailure`, whatever goes wrong. */
export async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof UpstreamFailure ? error : new UpstreamFailure(failureOf(error), error)
  }
}

/** What has a code is `openid-client`'s, and says in `error` what the upstream said. */
function failureOf(error: unknown): Failure {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof OutboundError || at.name === 'TimeoutError') return 'unreachable'
    if (at.cause instanceof Response && at.cause.status >= 500) return 'unreachable'
    const { error: said } = at as { error?: unknown }
    // Apple's own word for it.
    if (said === 'access_denied' || said === 'user_cancelled_authorize') return 'denied'
    if (said === 'server_error' || said === 'temporarily_unavailable') return 'unreachable'
  }
  return 'unusable'
}
