// Turns the claims of a token whose signature is good into an AccessToken, or says what is wrong with them (RFC 9068 §4).
// `iss` has been matched before and the guard judges `exp` and `aud`; here they only have to be there and well formed.
import type { AccessToken } from './access-token.ts'
import { BearerError } from './bearer-error.ts'
import { instantsOf, issueInstant } from './expiry.ts'

/**
 * What an issuer that does not follow RFC 9068 may do, each by name:
 * `typ-jwt`: the header says `typ: JWT`, or no type. An ID token looks the same, so those with `nonce` or a hash are refused;
 * `azp`, `appid`, `cid`: that claim stands in for a missing `client_id`;
 * `scp`: that claim stands in for a missing `scope`; `scope-array`: scopes may come as a list;
 * `no-jti`: `jti` may be missing.
 */
export type Relaxation = (typeof RELAXATIONS)[number]
export const RELAXATIONS = ['typ-jwt', 'azp', 'appid', 'cid', 'scp', 'scope-array', 'no-jti'] as const

/** Milliseconds by which an issuer's clock may be ahead of ours. Expiry has no such leeway. */
export const CLOCK_SKEW = 10_000

type Claims = Readonly<Record<string, unknown>>

/**
 * Whether the header's `typ` makes this an access token (RFC 9068 §4).
 * @throws {BearerError} `invalid_token`
 */
export function assertType(type: string | undefined, claims: Claims, accept: ReadonlySet<Relaxation>): void {
  if (type === 'at+jwt') return
  const plain = accept.has('typ-jwt') && (type === undefined || type === 'jwt')
  const idToken = ['nonce', 'at_hash', 'c_hash', 's_hash'].some((claim) => Object.hasOwn(claims, claim))
  if (!plain || idToken) throw refused('The token is not an access token')
}

/**
 * The last millisecond at which the token may have been signed, by its issuer's clock. `iat` is mostly cut to whole seconds.
 * @throws {BearerError} `invalid_token` without a usable `iat`
 */
export function latestIssueInstant(claims: Claims): number {
  const iat = seconds(claims, 'iat')
  const jti = typeof claims['jti'] === 'string' ? claims['jti'] : undefined
  return issueInstant({ jti, iat }) ?? Math.floor(iat) * 1000 + 999
}

/**
 * @param now milliseconds since 1970
 * @throws {BearerError} `invalid_token` for a claim that is missing, malformed or in the future
 */
export function readAccessToken(claims: Claims, accept: ReadonlySet<Relaxation>, now: number): AccessToken {
  const iat = seconds(claims, 'iat')
  const exp = seconds(claims, 'exp')
  const nbf = claims['nbf'] === undefined ? iat : seconds(claims, 'nbf')
  if (Math.max(iat, nbf) * 1000 > now + CLOCK_SKEW) throw refused('The token is not valid yet')
  const jti = claims['jti'] === undefined && accept.has('no-jti') ? undefined : text(claims, 'jti')
  const { issuedAt, expiresAt } = instantsOf({ jti, iat, exp })
  return {
    issuer: text(claims, 'iss'),
    subject: text(claims, 'sub'),
    clientId: text(claims, clientIdClaim(claims, accept)),
    scopes: readScopes(claims, accept),
    audience: readAudience(claims),
    issuedAt: new Date(issuedAt),
    expiresAt: new Date(expiresAt),
    jti,
    claims,
  }
}

function clientIdClaim(claims: Claims, accept: ReadonlySet<Relaxation>): string {
  const standIns = ['azp', 'appid', 'cid'] as const
  if (claims['client_id'] !== undefined) return 'client_id'
  return standIns.find((name) => accept.has(name) && claims[name] !== undefined) ?? 'client_id'
}

function readScopes(claims: Claims, accept: ReadonlySet<Relaxation>): ReadonlySet<string> {
  const scope = claims['scope'] ?? (accept.has('scp') ? claims['scp'] : undefined) ?? ''
  if (typeof scope === 'string') return new Set(scope.split(' ').filter((name) => name !== ''))
  if (accept.has('scope-array') && isTextList(scope)) return new Set(scope)
  throw refused('The token has a malformed scope')
}

function readAudience({ aud }: Claims): readonly string[] {
  const audience = typeof aud === 'string' ? [aud] : aud
  if (!isTextList(audience) || audience.length === 0) throw refused('The token has no usable aud')
  return audience
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function text(claims: Claims, name: string): string {
  const value = claims[name]
  if (typeof value !== 'string' || value === '') throw refused(`The token has no usable ${name}`)
  return value
}

// With a fraction or without (RFC 7519 §2). The bound keeps every instant inside what a Date can hold.
function seconds(claims: Claims, name: string): number {
  const value = claims[name]
  if (typeof value === 'number' && value >= 0 && value < 8e12) return value
  throw refused(`The token has no usable ${name}`)
}

function refused(description: string): BearerError {
  return new BearerError('invalid_token', description)
}
