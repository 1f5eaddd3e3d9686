/**
 * The one error type of the protocol: what goes on the wire, what a developer at the other end may read, and
 * the private cause that only our log sees. Everything else that is thrown becomes `server_error` in one place.
 */

import { assertSendable } from './headers.ts'
import { inEnglish, type Words } from './message.ts'

/** Statuses that differ from 400, the default of RFC 6749 §5.2. */
const STATUS: ReadonlyMap<string, number> = new Map([
  ['invalid_client', 401],
  ['invalid_token', 401],
  ['insufficient_scope', 403],
  ['access_denied', 403],
  ['server_error', 500],
  ['temporarily_unavailable', 503],
])

/** What every copy of this module knows its errors by: a plugin may bring a `latchkey` of its own along. */
const BRAND = Symbol.for('latchkey.OAuthError')

export interface OAuthErrorOptions {
  /** HTTP status; by default the one its code has in the standards, else 400. */
  status?: number
  /** Seconds for `Retry-After`. */
  retryAfter?: number
  /** Further response headers, lower case. */
  headers?: Readonly<Record<string, string>>
  /** What really happened: logged, never sent. */
  cause?: unknown
  /** Of a description that is about one member of what was sent: which, and what is wrong with it, for people in their language. */
  about?: AboutMember
  /** What is wrong with other members beside. */
  also?: readonly AboutMember[]
}

/** `reason` follows the member's name in a sentence: “must not be empty”. */
export interface AboutMember {
  readonly member: string
  readonly reason: Words
}

/**
 * An error response of RFC 6749 §5.2. `code` is the wire string itself (`'invalid_grant'`); `message` is the
 * `error_description`, kept to the characters that the RFC allows there. Plugins may use codes of their own.
 */
export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly code: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly about: AboutMember | undefined
  readonly also: readonly AboutMember[] | undefined
  /** @internal */
  readonly [BRAND] = true

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== OAuthError) return super[Symbol.hasInstance](value)
    return typeof value === 'object' && value !== null && BRAND in value
  }

  constructor(code: string, description: string, options: OAuthErrorOptions = {}) {
    super(legalDescription(description), options.cause === undefined ? undefined : { cause: options.cause })
    if (!/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/.test(code))
      throw new TypeError('an error code has illegal characters')
    const status = options.status ?? STATUS.get(code) ?? 400
    if (!(Number.isInteger(status) && status >= 200 && status <= 599))
      throw new TypeError(`${status} is no status`)
    assertSendable(`the error ${code}`, options.headers ?? {})
    this.code = code
    this.about = options.about
    this.also = options.also
    this.status = status
    const retryAfter = options.retryAfter ?? (this.status === 503 ? 2 : undefined)
    this.headers = {
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
      ...options.headers,
    }
  }

  /** The JSON body of RFC 6749 §5.2. */
  toJSON(): { error: string; error_description: string } {
    return { error: this.code, error_description: this.message }
  }
}

/** Of one member of what was sent: `reason` follows its name in a sentence. */
export function memberError(code: string, member: string, reason: Words): OAuthError {
  return new OAuthError(code, `${member} ${inEnglish(reason)}`, { about: { member, reason } })
}

/** Whether it is one of ours about this member of what was sent. */
export function isAbout(
  error: unknown,
  member: string,
): error is OAuthError & { readonly about: AboutMember } {
  return error instanceof OAuthError && error.about?.member === member
}

/** Of one member of client metadata or of another registration: `invalid_redirect_uri` or `invalid_client_metadata` (RFC 7591 §3.2.2). */
export function metadataError(member: string, reason: Words): OAuthError {
  const code = member.startsWith('redirect_uri') ? 'invalid_redirect_uri' : 'invalid_client_metadata'
  return memberError(code, member, reason)
}

/** RFC 6749 §5.2: `error_description` is %x20-21 / %x23-5B / %x5D-7E. */
export function legalDescription(text: string): string {
  return text
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replaceAll(/[^\x20-\x7e]/g, '?')
}
