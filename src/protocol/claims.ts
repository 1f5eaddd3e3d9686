/**
 * Claims about end-users: the standard ones of OpenID Connect Core §5.1 with their types, which scope asks for which
 * (§5.4), and what may be stored of a user. The `claims` parameter is `claims-request.ts`'s.
 */
import type { TSchema } from 'typebox'
import { isStorable } from './json.ts'
import { memberError, type OAuthError } from './errors.ts'
import { reason, type Words } from './message.ts'
import { misfitOf, Type } from './schema.ts'

/** Claims by their wire names. */
export type Claims = Readonly<Record<string, unknown>>

const Text = (maxLength = 256) => Type.String({ maxLength })

/** OpenID Connect Core §5.1, less `sub`, which is the server's to say. */
export const StandardClaims = Type.Partial(
  Type.Object({
    name: Text(),
    given_name: Text(),
    family_name: Text(),
    middle_name: Text(),
    nickname: Text(),
    preferred_username: Text(),
    profile: Text(2048),
    picture: Text(2048),
    website: Text(2048),
    email: Text(),
    email_verified: Type.Boolean(),
    gender: Text(),
    birthdate: Text(),
    zoneinfo: Text(),
    locale: Text(),
    phone_number: Text(),
    phone_number_verified: Type.Boolean(),
    address: Type.Partial(
      Type.Object({
        formatted: Text(2048),
        street_address: Text(2048),
        locality: Text(),
        region: Text(),
        postal_code: Text(),
        country: Text(),
      }),
    ),
    /** Seconds since the epoch. */
    updated_at: Type.Number({ minimum: 0 }),
  }),
)

/** OpenID Connect Core §5.4. */
export const CLAIMS_BY_SCOPE: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'profile',
    [
      'name', 'family_name', 'given_name', 'middle_name', 'nickname', 'preferred_username', 'profile', 'picture',
      'website', 'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at',
    ],
  ],
  ['email', ['email', 'email_verified']],
  ['address', ['address']],
  ['phone', ['phone_number', 'phone_number_verified']],
]) // prettier-ignore

/**
 * What a token says by itself, and what its names are reserved for (RFC 7519 §4.1, RFC 7800, 8693, 9068, 9396;
 * OpenID Connect Core §2, §3.3.2.11, §5.6.2; the logout specifications). Nothing stored of a user may be called so.
 */
const PROTOCOL_CLAIMS: ReadonlySet<string> = new Set([
  'iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'typ', 'nonce', 'auth_time', 'acr', 'amr', 'azp', 'at_hash',
  'c_hash', 's_hash', 'sid', 'events', 'toe', 'txn', 'client_id', 'scope', 'cnf', 'act', 'may_act', 'sub_jwk',
  'authorization_id', 'authorization_details', '_claim_names', '_claim_sources', 'active', 'token_type',
  'username', 'password', '__proto__',
]) // prettier-ignore

/** How others say that something was verified: some as a text, or a number. */
export const YES: readonly unknown[] = [true, 'true', 1, '1']

/** Which flag says of which claim that it was verified. */
const VERIFIES: ReadonlyMap<string, string> = new Map([
  ['email_verified', 'email'],
  ['phone_number_verified', 'phone_number'],
])
const SCOPE_BY_CLAIM: ReadonlyMap<string, string> = new Map(
  [...CLAIMS_BY_SCOPE].flatMap(([scope, names]) => names.map((name) => [name, scope] as const)),
)
const MAX_NAME = 200
const MAX_SIZE = 8192

/** The scope that a claim belongs to, in whatever language (§5.2); undefined for one of no scope. */
export function scopeOfClaim(name: string): string | undefined {
  return SCOPE_BY_CLAIM.get(baseOf(name))
}

/** Whether it can be known of a user, and is not the protocol's own. */
export function isUserClaim(name: string): boolean {
  return baseOf(name) !== '' && !PROTOCOL_CLAIMS.has(baseOf(name))
}

/** Without its language tag (§5.2), as in `name#de`. */
function baseOf(name: string): string {
  return name.split('#', 1)[0]!
}

/** The claims that the scopes ask for and the user has. */
export function claimsForScopes(user: Claims, scopes: Iterable<string>): Claims {
  const picked: Record<string, unknown> = {}
  for (const scope of scopes) Object.assign(picked, pickClaims(user, CLAIMS_BY_SCOPE.get(scope) ?? []))
  return picked
}

/**
 * The named claims that the user has. Empty ones are left out (§5.3.2); an address or number that nobody verified
 * comes with `false`, since there are clients that take silence for yes.
 */
export function pickClaims(user: Claims, names: Iterable<string>): Claims {
  const picked: Record<string, unknown> = {}
  for (const name of names) {
    const verified = VERIFIES.get(name)
    const value = verified === undefined ? claimOf(user, name) : flagOf(user, name, verified)
    if (value !== undefined) picked[name] = value
  }
  return picked
}

function claimOf(user: Claims, name: string): unknown {
  return Object.hasOwn(user, name) ? withoutEmpty(user[name]) : undefined
}

/** Undefined where there is nothing to verify. */
function flagOf(user: Claims, flag: string, verified: string): boolean | undefined {
  return claimOf(user, verified) === undefined ? undefined : user[flag] === true
}

function withoutEmpty(value: unknown): unknown {
  if (value === null || value === '') return undefined
  if (typeof value !== 'object') return value
  if (Array.isArray(value)) return value.length === 0 ? undefined : value
  const members = Object.entries(value).filter(([, member]) => withoutEmpty(member) !== undefined)
  return members.length === 0 ? undefined : Object.fromEntries(members)
}

/** Claims that shall be laid over these: that the former address or number was verified says nothing of another one. */
export function withProofs(claims: Claims, had: Claims): Claims {
  const unproven = [...VERIFIES].flatMap(([proof, name]) => {
    const sent = claims[name]
    const isOther = sent !== undefined && sent !== had[name]
    if (!isOther || claims[proof] !== undefined || had[proof] === undefined) return []
    return [[proof, sent === null ? null : false] as const]
  })
  return { ...claims, ...Object.fromEntries(unproven) }
}

export interface UserClaims {
  /** Null for a claim that shall be taken away. */
  claims: Record<string, unknown>
  /** Names that are the protocol's own: ignored, and named in a warning. */
  unknown: string[]
}

/**
 * What may be stored of a user: the standard claims in their types, others as they are. Throws `invalid_request`
 * naming the claim. A claim may carry a language tag (§5.2), as in `name#de`.
 */
export function parseUserClaims(input: Claims): UserClaims {
  const parsed: UserClaims = { claims: {}, unknown: [] }
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined) continue
    if (!isUserClaim(name)) parsed.unknown.push(name)
    else parsed.claims[name] = checkClaim(name, baseOf(name), value)
  }
  if (sizeOf(parsed.claims) > MAX_SIZE) throw claimError('claims', reason('are too long taken together'))
  return parsed
}

/** Those that can be stored together: of too much, the longest are left out. */
export function fittingClaims(claims: Claims): Claims {
  const kept = Object.entries(claims)
  while (sizeOf(Object.fromEntries(kept)) > MAX_SIZE) {
    const sizes = kept.map(([, value]) => sizeOf(value))
    kept.splice(sizes.indexOf(Math.max(...sizes)), 1)
  }
  return Object.fromEntries(kept)
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length
}

function checkClaim(name: string, base: string, value: unknown): unknown {
  if (name.length > MAX_NAME || !isStorable(name))
    throw claimError('a claim', reason('has a name that is too long'))
  if (!isStorable(value)) throw claimError(name, reason('must not hold NUL or broken Unicode'))
  const schemas: Readonly<Record<string, TSchema>> = StandardClaims.properties
  const schema = Object.hasOwn(schemas, base) ? schemas[base] : undefined
  const misfit = value === null || schema === undefined ? undefined : misfitOf(schema, value)
  if (misfit !== undefined) throw claimError(name, misfit.words)
  return value
}

function claimError(claim: string, why: Words): OAuthError {
  return memberError('invalid_request', claim, why)
}
