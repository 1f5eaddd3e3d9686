/**
 * A JWT that somebody else signed (RFC 7519, RFC 8725), from text to claims: its form, its header, the signature by one of the
 * keys that its sender is known to have, and the claims that bound it. jose does the cryptography; what else every such JWT
 * must be is here, in one place.
 */
import type { KeyObject } from 'node:crypto'
import { compactVerify, errors } from 'jose'
import type { Bag } from './bag.ts'
import { parseJsonObject } from './strict-json.ts'

/** What is wrong with a JWT: for the log, and for who sent it where that tells nobody anything. It quotes nothing. */
export class JwtError extends Error {}

/** Of one that was good. */
export class ExpiredJwtError extends JwtError {}

/** Read, and believed in nothing. */
export interface UnverifiedJwt {
  readonly alg: string
  readonly kid: string | undefined
  /** Lower case and without `application/` (RFC 7515 §4.1.9). */
  readonly typ: string | undefined
  readonly claims: Bag
}

/** What a JWT must say, beside being signed. */
export interface ExpectedClaims {
  /** `typ` that it may have; undefined for none. */
  readonly types: readonly (string | undefined)[]
  readonly issuer: string
  /** `sub`, where it must have one. */
  readonly subject?: string
  /** Each `aud` must be one of these: who else it is for could show it here. */
  readonly audiences: readonly string[]
  /** Whether it may have no `aud`, and is for everybody then. Default false. */
  readonly isForAll?: boolean
  /** Whether `aud` is one text and no list (FAPI 2.0 §5.3.2.1). Default false. */
  readonly single?: boolean
  /** Whether it is enough that one `aud` is of these, where it shows nobody anything (RFC 9101 §4). Default false. */
  readonly shared?: boolean
  /** Whether it may have no `iss` (RFC 9101 §4). Default false. */
  readonly issuerOptional?: boolean
  /** Members that it cannot do without, beside `iss` and `aud`. */
  readonly required: readonly string[]
  /** Seconds: how far ahead it may end. */
  readonly longest: number
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Characters. */
const LONGEST = 16_384
/** Seconds that clocks may differ: FAPI 2.0 §5.3.2.1 wants 10 taken, and 60 refused. */
export const CLOCK_SKEW = 10
/** A key that came along with what it signed proves nothing. */
const KEYS_IN_THE_HEADER = ['jwk', 'jku', 'x5u']
const LONGEST_TEXT = 512

/** Throws `JwtError` for what no signature could make good. */
export function decodeSignedJwt(jwt: string): UnverifiedJwt {
  if (jwt.length > LONGEST) throw new JwtError('it is too long')
  const parts = jwt.split('.')
  if (parts.length === 5) throw new JwtError('it is encrypted')
  if (parts.length !== 3 || !parts.every(isCanonical)) throw new JwtError('it is no signed JWT')
  return decode(parts)
}

/** One of `alg` `none` (RFC 7519 §6.1), whose claims are nobody's. Throws `JwtError`. */
export function decodeUnsignedJwt(jwt: string): UnverifiedJwt {
  if (jwt.length > LONGEST) throw new JwtError('it is too long')
  const [header = '', claims = '', ...rest] = jwt.split('.')
  if (rest.join('.') !== '' || rest.length !== 1 || ![header, claims].every(isCanonical))
    throw new JwtError('it is no unsigned JWT')
  const unverified = decode([header, claims])
  if (unverified.alg !== 'none') throw new JwtError('it has no signature')
  return unverified
}

function decode(parts: readonly string[]): UnverifiedJwt {
  const [header, claims] = [parts[0]!, parts[1]!].map(parsePart) as [Bag, Bag]
  const { alg, kid, typ, cty } = header
  if (typeof alg !== 'string') throw new JwtError('it names no alg')
  if ('crit' in header || 'b64' in header) throw new JwtError('its header has what is critical')
  if (KEYS_IN_THE_HEADER.some((name) => name in header)) throw new JwtError('its header brings a key along')
  if (cty !== undefined) throw new JwtError('it is nested')
  if (!isTextOrAbsent(kid)) throw new JwtError('its kid is no text')
  if (!isTextOrAbsent(typ)) throw new JwtError('its typ is no text')
  return { alg, kid, typ: typ?.toLowerCase().replace(/^application\//, ''), claims }
}

/** Whether one of the keys has signed it. */
export async function isSignedBy(
  jwt: string,
  { alg }: UnverifiedJwt,
  keys: readonly KeyObject[],
): Promise<boolean> {
  for (const key of keys) {
    try {
      await compactVerify(jwt, key, { algorithms: [alg] })
      return true
    } catch (error) {
      if (!(error instanceof errors.JOSEError) && !(error instanceof TypeError)) throw error
    }
  }
  return false
}

/** Throws `JwtError`. */
export function assertClaims({ typ, claims }: UnverifiedJwt, expected: ExpectedClaims): void {
  const { types, issuer, subject, isForAll = false, issuerOptional = false, required, longest } = expected
  if (!types.includes(typ)) throw new JwtError('its typ is another')
  const demanded = [...(issuerOptional ? [] : ['iss']), ...(isForAll ? [] : ['aud']), ...required]
  const missing = demanded.find((name) => claims[name] === undefined)
  if (missing !== undefined) throw new JwtError(`it has no ${missing}`)
  const { iss = issuer, aud } = claims
  if (iss !== issuer) throw new JwtError('its iss is another')
  if (subject !== undefined && claims['sub'] !== subject) throw new JwtError('its sub is another')
  if (aud !== undefined && !isFor(aud, expected)) throw new JwtError('its aud is another')
  if ('jti' in claims && !isText(claims['jti'])) throw new JwtError('its jti is no text, or too long')
  assertTimes(claims, expected.now / 1000, longest)
}

function assertTimes({ exp, nbf, iat }: Bag, now: number, longest: number): void {
  if (![exp, nbf, iat].every((instant) => instant === undefined || isInstant(instant)))
    throw new JwtError('it has an instant that is no number')
  if (isInstant(exp) && exp <= now - CLOCK_SKEW) throw new ExpiredJwtError('it has expired')
  if (isInstant(exp) && exp > now + longest + CLOCK_SKEW)
    throw new JwtError(`its exp is more than ${longest} seconds ahead`)
  if (isInstant(nbf) && nbf > now + CLOCK_SKEW) throw new JwtError('its nbf is ahead')
  if (isInstant(iat) && iat > now + CLOCK_SKEW) throw new JwtError('its iat is ahead')
}

/**
 * Throws `JwtError` for one that says not by itself how long it is good, or that is good for longer than `longest` seconds (FAPI 2.0 Message
 * Signing §5.3.1).
 */
export function assertBounded({ aud, nbf, exp }: Bag, longest: number): void {
  for (const [name, value] of Object.entries({ aud, nbf, exp }))
    if (value === undefined) throw new JwtError(`it has no ${name}`)
  const oldest = Date.now() / 1000 - longest - CLOCK_SKEW
  if (Number(exp) - Number(nbf) > longest || Number(nbf) < oldest)
    throw new JwtError(`it is good for more than ${longest} seconds`)
}

function isFor(
  audience: unknown,
  { audiences, single = false, shared = false }: Pick<ExpectedClaims, 'audiences' | 'single' | 'shared'>,
): boolean {
  const named: unknown[] = single ? [audience] : [audience].flat()
  const isOurs = (one: unknown): boolean => typeof one === 'string' && audiences.includes(one)
  return named.length > 0 && (shared ? named.some(isOurs) : named.every(isOurs))
}

function isInstant(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_TEXT
}

function isTextOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || isText(value)
}

/** base64url can be written in several ways (RFC 4648 §3.5): one JWT has one spelling. */
function isCanonical(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part
}

function parsePart(part: string): Bag {
  try {
    return parseJsonObject(Buffer.from(part, 'base64url'))
  } catch (cause) {
    throw new JwtError('it holds no JSON object with each member once', { cause })
  }
}
