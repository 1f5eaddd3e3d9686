// The two ways in which a guarded route says no: the request is refused (RFC 6750 §3.1), or nobody can tell at the moment.
// A process may hold this module several times, in an app and in what the app registers: each knows the others' errors.

const REFUSED = Symbol.for('@latchkey/require-scope: refused')
const UNAVAILABLE = Symbol.for('@latchkey/require-scope: unavailable')

/** Those of RFC 6750, and what a sender constraint has of its own, such as `use_dpop_nonce` (RFC 9449 §9). */
export type BearerErrorCode = 'invalid_request' | 'invalid_token' | 'insufficient_scope' | (string & {})

const STATUS: ReadonlyMap<string | undefined, 400 | 403> = new Map([
  ['invalid_request', 400],
  ['insufficient_scope', 403],
] as const)

export interface BearerErrorOptions {
  cause?: unknown
  headers?: Readonly<Record<string, string>>
  /** Further parameters of the challenge, such as `acr_values` (RFC 9470 §3). */
  challenge?: Readonly<Record<string, string>>
}

/**
 * A refusal by RFC 6750 §3.1. `message` is its public description, `cause` is for the log alone. A code that is not the RFC's is
 * a 401. Without a code it stands for "no token came": 401, and the challenge names no error.
 */
export class BearerError extends Error {
  override readonly name = 'BearerError'
  readonly error: BearerErrorCode | undefined
  /** The HTTP status, which Fastify's error handlers read. */
  readonly statusCode: 400 | 401 | 403
  /** Further headers of the answer, lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** What the challenge says beside the error, by the names of its parameters. */
  readonly challenge: Readonly<Record<string, string>>
  /** @internal */
  readonly [REFUSED] = true

  static override [Symbol.hasInstance](value: unknown): boolean {
    return this === BearerError ? isMarked(value, REFUSED) : super[Symbol.hasInstance](value)
  }

  constructor(
    error: BearerErrorCode | undefined,
    description: string,
    { headers = {}, challenge = {}, ...options }: BearerErrorOptions = {},
  ) {
    super(description, options)
    this.error = error
    this.statusCode = STATUS.get(error) ?? 401
    this.headers = headers
    this.challenge = challenge
  }

  /** What the caller is told, under its wire names. */
  get body(): { error?: string; error_description: string } {
    return {
      ...(this.error === undefined ? {} : { error: this.error }),
      error_description: this.message,
    }
  }
}

/** The token can be neither accepted nor refused now: 503, so that no client throws a good token away. */
export class VerificationUnavailable extends Error {
  override readonly name = 'VerificationUnavailable'
  readonly error = 'temporarily_unavailable'
  readonly statusCode = 503
  /** Whole seconds after which another attempt makes sense, at least 1; sent as `Retry-After`. */
  readonly retryAfter: number
  /** @internal */
  readonly [UNAVAILABLE] = true

  static override [Symbol.hasInstance](value: unknown): boolean {
    return this === VerificationUnavailable ? isMarked(value, UNAVAILABLE) : super[Symbol.hasInstance](value)
  }

  constructor(options: { retryAfter?: number; cause?: unknown } = {}) {
    super('The token cannot be verified at the moment', { cause: options.cause })
    this.retryAfter = Math.max(1, Math.ceil(options.retryAfter ?? 1))
  }

  /** What the caller is told, under its wire names. */
  get body(): { error: string; error_description: string } {
    return { error: this.error, error_description: this.message }
  }
}

function isMarked(value: unknown, mark: symbol): boolean {
  return typeof value === 'object' && value !== null && mark in value
}
