/**
 * Form parameters as they came: decoded strictly, every name once. What a parameter means, and whether it may
 * repeat, is for `parameters.ts` and the specifications to say.
 */
import { OAuthError } from './errors.ts'

/** Decoded parameters by name; an array only where a specification lets a parameter repeat. */
export type Wire = Readonly<Record<string, string | readonly string[]>>

/** Parameters with those that came more than once, of which it has the first values. */
export interface SentForm {
  readonly wire: Wire
  readonly repeated: ReadonlySet<string>
}

/** RFC 8707 §2 and RFC 8693 §2.1 let these two repeat. */
export const REPEATABLE: ReadonlySet<string> = new Set(['resource', 'audience'])
const MAX_PARAMETERS = 200
const NONE: ReadonlySet<string> = new Set()
/** Of an empty text, as most queries are. */
const EMPTY = { wire: Object.freeze(Object.create(null) as Wire), repeated: NONE }

/**
 * Decodes `application/x-www-form-urlencoded` text (a body, or a query without its `?`). An empty value counts
 * as absent (RFC 6749 §3.1). Throws `invalid_request` for a repeated parameter, a stray `%`, bytes that are
 * not UTF-8, and NUL, which no database text can hold.
 */
export function parseForm(text: string): Wire {
  const { wire, repeated } = parseFormLeniently(text)
  assertNotRepeated(repeated)
  return wire
}

/** Throws `invalid_request` for the first of those that came more than once. */
export function assertNotRepeated([name]: Iterable<string>): void {
  if (name !== undefined)
    throw new OAuthError('invalid_request', `the parameter ${nameForMessage(name)} is repeated`)
}

/** The same, but repeated parameters are named beside the first value of each: their error can then be told where it belongs. */
export function parseFormLeniently(text: string): SentForm {
  if (text === '') return EMPTY
  const wire = Object.create(null) as Record<string, string | string[]>
  let repeated: Set<string> | undefined
  if (text.includes('\ufffd')) throw malformed()
  const pairs = text.split('&')
  if (pairs.length > MAX_PARAMETERS) throw new OAuthError('invalid_request', 'there are too many parameters')
  for (const pair of pairs) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1))
    if (value === '') continue
    const had = wire[name]
    if (REPEATABLE.has(name)) wire[name] = Array.isArray(had) ? [...had, value] : [value]
    else if (had === undefined) wire[name] = value
    else (repeated ??= new Set()).add(name)
  }
  return { wire, repeated: repeated ?? NONE }
}

/** The same parameters without `names`. */
export function without(wire: Wire, names: Iterable<string>): Wire {
  let rest: Record<string, string | readonly string[]> | undefined
  for (const name of names) {
    if (wire[name] === undefined) continue
    rest ??= Object.assign(Object.create(null), wire) as Record<string, string | readonly string[]>
    delete rest[name]
  }
  return rest ?? wire
}

function decode(text: string): string {
  let decoded: string
  try {
    decoded = text.includes('%') || text.includes('+') ? decodeURIComponent(text.replaceAll('+', ' ')) : text
  } catch (cause) {
    throw malformed(cause)
  }
  if (decoded.includes('\0')) throw malformed()
  return decoded
}

/** A name is echoed only when it looks like one of ours; raw input is never reflected. */
function nameForMessage(name: string): string {
  return /^[a-z_]{1,40}$/.test(name) ? name : 'sent'
}

function malformed(cause?: unknown): OAuthError {
  return new OAuthError('invalid_request', 'the parameters are not well-formed form data in UTF-8', { cause })
}
