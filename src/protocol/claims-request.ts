/**
 * The `claims` parameter (OpenID Connect Core §5.5): single claims that a client asks for, for userinfo or the ID
 * token. It is read with suspicion, kept as JSON with the Authorization, and answered from what is known of the user.
 */
import { isDeepStrictEqual } from 'node:util'
import { pickClaims, type Claims } from './claims.ts'
import { OAuthError } from './errors.ts'
import { isObject, isStorable, parseJson } from './json.ts'
import { memberTwiceIn } from './strict-json.ts'

/** How one claim is asked for (§5.5.1). */
export interface ClaimRequest {
  readonly essential?: boolean
  readonly value?: unknown
  readonly values?: readonly unknown[]
}

/** Null: asked for in the default manner. */
export type ClaimRequests = Readonly<Record<string, ClaimRequest | null>>

export interface ClaimsRequest {
  readonly userinfo: ClaimRequests
  readonly id_token: ClaimRequests
}

export type ClaimsPlace = keyof ClaimsRequest

/**
 * By which name a request lives on with the Authorization once it is approved. Earlier versions kept it as `claims`, whether
 * or not anybody had been asked: those give what the scopes hold, and no more.
 */
export const APPROVED_CLAIMS = 'approved_claims'

const MAX_LENGTH = 4096
const MAX_DEPTH = 6
const MAX_CLAIMS = 100
/** What a claim may be called: people are shown the name, in which no app is to speak to them. */
const NAME = /^(?:(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{N}_.:/#-]){1,200}$/u

/** Throws `invalid_request` for what is not such a document. Members that the specification does not know are ignored. */
export function parseClaimsRequest(text: string): ClaimsRequest {
  if (text.length > MAX_LENGTH) throw malformed('is too long')
  const document = parseJson(text)
  if (document === undefined) throw malformed('must be JSON')
  assertDepth(document, MAX_DEPTH)
  if (memberTwiceIn(text) !== undefined) throw malformed('has a member twice')
  if (!isStorable(document)) throw malformed('must not hold NUL or broken Unicode')
  const members = toObject(document, 'must be a JSON object')
  return { userinfo: parsePlace(members, 'userinfo'), id_token: parsePlace(members, 'id_token') }
}

/** Before anything walks it that could run out of stack. */
function assertDepth(value: unknown, left: number): void {
  if (typeof value !== 'object' || value === null) return
  if (left === 0) throw malformed('is nested too deeply')
  for (const name of Object.keys(value)) {
    if (name === '__proto__') throw malformed('has a member of a forbidden name')
    assertDepth((value as Claims)[name], left - 1)
  }
}

function parsePlace(members: Claims, place: ClaimsPlace): ClaimRequests {
  const value = own(members, place)
  if (value === undefined || value === null) return {}
  const claims = Object.entries(toObject(value, `must have an object for ${place}`))
  if (claims.length > MAX_CLAIMS) throw malformed('asks for too many claims')
  const parsed = claims.map(([name, one]) => [name, parseOne(one)] as const)
  // What nobody has is not given, and not asked for (OpenID Connect Core §5.5).
  return Object.fromEntries(parsed.filter(([name]) => NAME.test(name)))
}

function parseOne(value: unknown): ClaimRequest | null {
  if (value === null) return null
  const members = toObject(value, 'must have null or an object for each claim')
  const [essential, values] = [own(members, 'essential'), own(members, 'values')]
  if (essential !== undefined && typeof essential !== 'boolean')
    throw malformed('has an essential that is no boolean')
  if (values !== undefined && !Array.isArray(values)) throw malformed('has values that are no array')
  return {
    ...(essential === undefined ? {} : { essential }),
    ...(Object.hasOwn(members, 'value') ? { value: members['value'] } : {}),
    ...(values === undefined ? {} : { values: values as unknown[] }),
  }
}

/** What was approved of an Authorization's. */
export function approvedClaims(parameters: Claims | undefined): ClaimsRequest | undefined {
  return parameters?.[APPROVED_CLAIMS] as ClaimsRequest | undefined
}

/** The names asked for in either place: what a consent page has to show. */
export function requestedNames(request: ClaimsRequest): ReadonlySet<string> {
  return new Set([...Object.keys(request.userinfo), ...Object.keys(request.id_token)])
}

/** The same without these claims, in either place. */
export function withoutClaims(request: ClaimsRequest, names: ReadonlySet<string>): ClaimsRequest {
  const left = (claims: ClaimRequests): ClaimRequests =>
    Object.fromEntries(Object.entries(claims).filter(([name]) => !names.has(name)))
  return { userinfo: left(request.userinfo), id_token: left(request.id_token) }
}

/**
 * What the user has of the claims asked for at this place. A claim asked for with a value is left out when the
 * user's differs. `sub`, `acr` and `auth_time` are no claims of the user's: see the functions below.
 */
export function requestedClaims(request: ClaimsRequest, place: ClaimsPlace, user: Claims): Claims {
  const found = pickClaims(user, Object.keys(request[place]))
  return Object.fromEntries(
    Object.entries(found).filter(([name, value]) => accepts(request[place][name]!, value)),
  )
}

/**
 * The subjects that the request is for (§5.5.1: it then must succeed for nobody else); undefined for anybody. More
 * than one where `values` names them; none where two demands exclude each other.
 */
export function requestedSubjects(request: ClaimsRequest): readonly unknown[] | undefined {
  const demands = [request.userinfo, request.id_token]
    .map((claims) => own(claims, 'sub'))
    .map((one) => (one ? demanded(one) : undefined))
    .filter((one) => one !== undefined)
  return demands.length === 0 ? undefined : demands.reduce((a, b) => a.filter((one) => b.includes(one)))
}

/**
 * How `acr` is asked for in the ID token (§5.5.1.1): if it is essential, the sign-in must reach one of `values`
 * or the request fails; otherwise they are a wish. Undefined when it is not asked for.
 */
export function requestedAcr(
  request: ClaimsRequest,
): { essential: boolean; values: readonly string[] } | undefined {
  const acr = own(request.id_token, 'acr')
  if (acr === undefined) return undefined
  const values = acr === null ? undefined : demanded(acr)
  // A number is meant as the text, and what is neither is reached by nobody, as is one of none: a demand is never left out.
  const listed = values?.length === 0 ? [values] : (values ?? [])
  const texts = listed.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
  return { essential: acr?.essential === true, values: texts }
}

function accepts(request: ClaimRequest | null, value: unknown): boolean {
  const wanted = request === null ? undefined : demanded(request)
  return wanted === undefined || wanted.some((one) => isDeepStrictEqual(one, value))
}

function demanded(request: ClaimRequest): readonly unknown[] | undefined {
  return 'value' in request ? [request.value] : request.values
}

/** A member that is there by itself and not by the prototype. */
function own<T>(members: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined
}

function toObject(value: unknown, problem: string): Claims {
  if (isObject(value)) return value
  throw malformed(problem)
}

function malformed(problem: string): OAuthError {
  return new OAuthError('invalid_request', `claims ${problem}`)
}
