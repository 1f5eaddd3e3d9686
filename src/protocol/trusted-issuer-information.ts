/**
 * What is registered of a trusted issuer, whose JWTs are good here as grants, as subject tokens and as proofs of clients: its members by
 * their names in SEED_FILE, on the command line and on the pages, and what each must look like.
 */
import { readClaimRules } from './claim-rules.ts'
import { metadataError, type OAuthError } from './errors.ts'
import { isObject, isStorable } from './json.ts'
import { JwkSetError, parseJwkSet, SIGNATURE_ALGORITHMS } from './jwk-set.ts'
import { reason } from './message.ts'
import { assertForeign } from './own-issuer.ts'
import {
  layMembers,
  readBoolean,
  readMembers,
  readOneOf,
  type ReadMember,
  readEach,
  readText,
  saidMembers,
} from './record-members.ts'
import { isResourceIdentifier } from './resource-identifier.ts'
import { isScopeToken } from './scope.ts'
import { parseTypedJson } from './typed-pairs.ts'

/** By what somebody of theirs is one of ours; `client` is the client that asks, and nobody. */
export const SUBJECTS = ['link', 'email', 'username', 'client'] as const
export type SubjectMapping = (typeof SUBJECTS)[number]

export interface TrustedIssuerInformation {
  /** As its JWTs have it in `iss`; of SPIFFE the trust domain, `spiffe://example.org`. */
  issuer: string
  jwks_uri?: string
  jwks?: object
  /** JWS algorithms that are taken; by default all that a public key can be checked for. */
  algorithms?: string[]
  /** What its JWTs have in `aud`; by default our issuer or the token endpoint. */
  audiences?: string[]
  /** By default `email` where `subject_claim` is `email`, `username` where it is another, and `link` where there is none. */
  subject?: SubjectMapping
  /** The claim that says who somebody is; by default `email` or `sub`. */
  subject_claim?: string
  /** What its JWTs may give at most, each within the client's own; nothing by default. */
  scopes?: string[]
  /** For which resources; by default those of the scopes. */
  resources?: string[]
  /** Who may use its JWTs as grants; by default whoever is registered for the grant. */
  clients?: string[]
  claims?: Record<string, string | readonly string[]>
  /** Seconds that a JWT is good from when it was made, at most; 3600 by default. */
  max_age?: number
  /** Whether one JWT may be used more than once, as workloads do with a token of theirs. Default false. */
  reusable?: boolean
  /** Whether nothing of it is good now. Default false. */
  disabled?: boolean
}

const MEMBERS = [
  'jwks_uri',
  'jwks',
  'algorithms',
  'audiences',
  'subject',
  'subject_claim',
  'scopes',
  'resources',
  'clients',
  'claims',
  'max_age',
  'reusable',
  'disabled',
] as const
type Member = (typeof MEMBERS)[number]

/** What is not said is null. */
export type StoredTrustedIssuer = {
  [M in Member]: Exclude<TrustedIssuerInformation[M], undefined> | null
} & { issuer: string }

/** Members to be laid over what is there; null takes one away, absent leaves it. */
export type LaidTrustedIssuer = { [M in Member]?: TrustedIssuerInformation[M] | null } & { issuer: string }

/** The same as it is given: lists, flags and mappings may come as a text, as people type them. */
export type TrustedIssuerInput = { [M in Member]?: TrustedIssuerInformation[M] | string | null } & {
  issuer?: string | null
}

const MOST = 100
/** Seconds: what was used once is remembered for a day. */
const LONGEST = 86_000

const READERS: Readonly<Record<Member, ReadMember>> = {
  jwks_uri: (value) => readAddress('jwks_uri', value),
  jwks: readKeys,
  algorithms: (value) => readList('algorithms', value, (one) => SIGNATURE_ALGORITHMS.includes(one)),
  audiences: (value) => readList('audiences', value),
  subject: (value) => readOneOf('subject', value, SUBJECTS),
  subject_claim: (value) => readText('subject_claim', value, 200),
  scopes: (value) => readList('scopes', value, isScopeToken),
  resources: (value) => readList('resources', value, isResourceIdentifier),
  clients: (value) => readList('clients', value),
  claims: (value) => readClaimRules('claims', value),
  max_age: readAge,
  reusable: (value) => readBoolean('reusable', value),
  disabled: (value) => readBoolean('disabled', value),
}

/**
 * Brings members to one form; lists and mappings may also come as one text. Throws `invalid_client_metadata` that names the member, also
 * for our `own` issuer; `unknown` are names that nobody knows.
 */
export function parseTrustedIssuer(
  input: unknown,
  own: string,
): { members: LaidTrustedIssuer; unknown: string[] } {
  if (!isObject(input)) throw metadataError('trusted_issuer', 'must be an object')
  const { issuer, ...said } = input
  const read = readEach({
    said: () => readMembers(READERS, said),
    issuer: () => readIssuer(issuer, own),
    // Of one that is there, only one of them may be taken away.
    jwks: () => {
      if (said['jwks'] === null && said['jwks_uri'] === null) throw withoutKeys()
    },
  })
  const { members, unknown } = read.said
  return { members: { issuer: read.issuer, ...members } as LaidTrustedIssuer, unknown }
}

/** What it is with the members laid over what it was. Throws `invalid_client_metadata` for one that must be there. */
export function layTrustedIssuer(
  before: StoredTrustedIssuer | undefined,
  laid: LaidTrustedIssuer,
): StoredTrustedIssuer {
  const after = { ...layMembers(MEMBERS, before, laid), issuer: laid.issuer } as StoredTrustedIssuer
  if ((after.jwks === null) === (after.jwks_uri === null)) throw withoutKeys()
  return after
}

function withoutKeys(): OAuthError {
  return metadataError('jwks', reason('is needed, or jwks_uri, and not both'))
}

/** Without what is not said. */
export function trustedIssuerInformation(stored: StoredTrustedIssuer): TrustedIssuerInformation {
  return { issuer: stored.issuer, ...saidMembers(MEMBERS, stored) } as TrustedIssuerInformation
}

/** By what people are found. */
export function mappingOf({ subject, subject_claim: claim }: TrustedIssuerInformation): {
  by: SubjectMapping
  claim: string
} {
  const by = subject ?? (claim === undefined ? 'link' : claim === 'email' ? 'email' : 'username')
  return { by, claim: claim ?? (by === 'email' ? 'email' : 'sub') }
}

function readIssuer(value: unknown, own: string): string {
  const text = readText('issuer', value, 2048)
  if (!/^(?:https?|spiffe):\/\/[^\s?#@]+$/.test(text) || URL.parse(text) === null)
    throw metadataError('issuer', reason('must be an https address, or a SPIFFE trust domain'))
  assertForeign(text, own)
  return text
}

function readAddress(member: string, value: unknown): string {
  const text = readText(member, value, 2048)
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.hash !== '')
    throw metadataError(member, reason('must be an https address'))
  return text
}

function readKeys(value: unknown): object {
  const { typed, twice } = typeof value === 'string' ? parseTypedJson(value) : { typed: value }
  if (!isObject(typed)) throw metadataError('jwks', reason('must be a JWK set'))
  if (twice !== undefined)
    throw metadataError('jwks', reason('has {name} twice in one object: leave one of them', { name: twice }))
  try {
    if (parseJwkSet(typed).length > 0) return typed
  } catch (cause) {
    if (!(cause instanceof JwkSetError)) throw cause
    throw metadataError('jwks', cause.reason)
  }
  throw metadataError('jwks', reason('holds no key'))
}

function readList(member: string, value: unknown, isGood: (one: string) => boolean = isName): string[] {
  const list: unknown = typeof value === 'string' ? value.split(/\s+/).filter((one) => one !== '') : value
  if (Array.isArray(list) && list.length <= MOST && list.every((one) => isName(one) && isGood(one)))
    return [...new Set(list as string[])]
  throw metadataError(member, reason('must be a list of {most} at most, each well formed', { most: MOST }))
}

function isName(one: unknown): one is string {
  return typeof one === 'string' && one !== '' && one.length <= 2048 && isStorable(one)
}

function readAge(value: unknown): number {
  const seconds = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  if (Number.isSafeInteger(seconds) && Number(seconds) >= 1 && Number(seconds) <= LONGEST)
    return Number(seconds)
  throw metadataError('max_age', reason('must be 1 to {most} seconds', { most: LONGEST }))
}
