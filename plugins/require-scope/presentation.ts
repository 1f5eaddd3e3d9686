// Finds the access token in a request (RFC 6750 §2): header, form body or query, and never two of them.
import { BearerError } from './bearer-error.ts'
import { BEARER, schemeNamed } from './schemes.ts'
import type { Schemed } from './schemes.ts'

/** The parts of a Fastify request that may carry a token. */
export interface CarryingRequest {
  readonly headers: {
    readonly authorization?: string | undefined
    readonly 'content-type'?: string | undefined
  }
  readonly raw: { readonly rawHeaders: readonly string[] }
  readonly body?: unknown
  readonly query?: unknown
}

export interface PresentedToken {
  readonly value: string
  readonly inQuery: boolean
  /** The authentication scheme; Bearer where it came otherwise than in the header. */
  readonly scheme: string
}

const CREDENTIALS = /^([^ ]+)(?: +(.*))?$/
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/

/**
 * The one token of a request, in the header under Bearer or one of `schemes`. A body counts once it is parsed, so not in an
 * `onRequest` hook; a query parameter is read only when `queryParameter` is set, but beside another token it is refused even so.
 * @throws {BearerError} without a code when there is none; `invalid_request` when it is one of several, or its scheme stands alone;
 * `invalid_token` when it is malformed (§3.1)
 */
export function presentedToken(
  request: CarryingRequest,
  queryParameter: boolean,
  schemes: readonly Schemed[],
): PresentedToken {
  assertOneHeader(request)
  const credentials = credentialsOf(request, schemes)
  const header = credentials?.value
  const body = isForm(request) ? parameter(request.body) : undefined
  const query = parameter(request.query)
  const found = [header, body, query].filter((value) => value !== undefined)
  if (found.length > 1) throw malformed('The request carries more than one token')
  const value = header ?? body ?? (queryParameter ? query : undefined)
  if (value === undefined) throw new BearerError(undefined, 'An access token is required')
  if (typeof value !== 'string') throw malformed('The access_token parameter is repeated')
  if (value === '') throw malformed('The Authorization header has a scheme and no token')
  if (!TOKEN.test(value)) throw new BearerError('invalid_token', 'The access token is malformed')
  return { value, inQuery: value === query, scheme: credentials?.scheme ?? BEARER }
}

/** What the Authorization header holds, where that can be a token. */
export function credentialsOf(
  { headers }: CarryingRequest,
  schemes: readonly Schemed[],
): { readonly scheme: string; readonly value: string } | undefined {
  const [, name = '', value = ''] = CREDENTIALS.exec(headers.authorization ?? '') ?? []
  const scheme = schemeNamed(name, schemes)
  return scheme === undefined ? undefined : { scheme, value: value.trimEnd() }
}

/** Node keeps the first of several Authorization headers and hides the rest. */
function assertOneHeader({ raw }: CarryingRequest): void {
  let occurrences = 0
  for (let i = 0; i < raw.rawHeaders.length; i += 2) {
    const name = raw.rawHeaders[i]
    if (name?.length === 13 && name.toLowerCase() === 'authorization') occurrences++
  }
  if (occurrences > 1) throw malformed('The Authorization header is repeated')
}

function isForm({ headers }: CarryingRequest): boolean {
  const mediaType = headers['content-type']?.split(';', 1)[0]
  return mediaType?.trim().toLowerCase() === 'application/x-www-form-urlencoded'
}

function parameter(source: unknown): unknown {
  if (typeof source !== 'object' || source === null || !Object.hasOwn(source, 'access_token'))
    return undefined
  const value = (source as { access_token: unknown }).access_token
  return value === '' ? undefined : (value ?? undefined)
}

function malformed(description: string): BearerError {
  return new BearerError('invalid_request', description)
}
