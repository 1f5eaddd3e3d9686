// Takes a compact JWS apart without trusting it: size, shape, encoding and header, before any key or network is touched.
// What the payload must say is in claims.ts; the signature is checked in issuer-verifier.ts.
import { BearerError } from './bearer-error.ts'

/** Longest token that is looked at, in characters. */
const MAX_TOKEN_LENGTH = 16 * 1024
const MAX_KID_LENGTH = 512

export interface UnverifiedToken {
  readonly algorithm: string
  readonly kid: string
  /** `typ`, lower-cased and without `application/` (RFC 7515 §4.1.9). Undefined when absent. */
  readonly type: string | undefined
  readonly claims: Readonly<Record<string, unknown>>
}

export interface UnverifiedJwt {
  readonly header: Readonly<Record<string, unknown>>
  readonly algorithm: string
  readonly claims: Readonly<Record<string, unknown>>
}

const SEGMENT = /^[A-Za-z0-9_-]+$/
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads the header and the claims of a signed JWT. Key material in the header (`jwk`, `jku`, `x5u`, `x5c`) is ignored.
 * @throws {BearerError} `invalid_token`
 */
export function decodeToken(token: string): UnverifiedToken {
  const { header, algorithm, claims } = decodeJwt(token, MAX_TOKEN_LENGTH)
  const { kid, typ } = header
  if (typeof kid !== 'string' || kid === '' || kid.length > MAX_KID_LENGTH) {
    throw malformed('The token does not say which key signed it')
  }
  if (typ !== undefined && typeof typ !== 'string') throw malformed('The token has a malformed type')
  const type = typ?.toLowerCase().replace(/^application\//, '')
  return { algorithm, kid, type, claims }
}

/**
 * Any signed JWT, such as a proof.
 * @param longest characters
 * @throws {BearerError} `invalid_token`
 */
export function decodeJwt(token: string, longest: number): UnverifiedJwt {
  if (token.length > longest) throw malformed('The token is too long')
  const segments = token.split('.')
  if (segments.length === 5) throw malformed('Encrypted tokens are not accepted')
  const [head, payload, signature] = segments
  if (segments.length !== 3 || !head || !payload || !signature || !SEGMENT.test(signature)) {
    throw malformed('The token is not a signed JWT')
  }
  const header = decodeObject(head)
  const { alg, crit } = header
  if (typeof alg !== 'string') throw malformed('The token names no algorithm')
  if (crit !== undefined) throw malformed('The token has a critical header that is not understood')
  return { header, algorithm: alg, claims: decodeObject(payload) }
}

function decodeObject(segment: string): Readonly<Record<string, unknown>> {
  if (!SEGMENT.test(segment)) throw malformed('The token is not a signed JWT')
  let value: unknown
  let text: string
  try {
    text = utf8.decode(Buffer.from(segment, 'base64url'))
    value = JSON.parse(text)
  } catch (cause) {
    throw malformed('The token is not a signed JWT', cause)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw malformed('The token is not a signed JWT')
  }
  if (freezeAndCountKeys(value) !== countKeys(text)) throw malformed('The token repeats a member')
  return value as Record<string, unknown>
}

// Both counts agree unless JSON.parse has merged members of the same name. Parsers differ in which of them they keep,
// so such a token could mean one thing here and another thing elsewhere.
function countKeys(json: string): number {
  let count = 0
  for (const [, colon] of json.matchAll(/"(?:[^"\\]|\\.)*"\s*(:?)/g)) if (colon === ':') count++
  return count
}

// A loop and not a recursion: 16 KiB of brackets would overflow the stack.
function freezeAndCountKeys(root: object): number {
  let count = 0
  const pending: unknown[] = [root]
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (typeof value !== 'object' || value === null) continue
    if (!Array.isArray(value)) count += Object.keys(value).length
    for (const member of Object.values(value)) pending.push(member)
    Object.freeze(value)
  }
  return count
}

function malformed(description: string, cause?: unknown): BearerError {
  return new BearerError('invalid_token', description, { cause })
}
