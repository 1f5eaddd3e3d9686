/**
 * What is registered of an upstream, a provider by which people sign in here: its members by their names in SEED_FILE, on the
 * command line and on the pages, and what each must look like. The client's secret goes in alone, and never comes out.
 */
import { readAppleKey } from './apple-key.ts'
import { metadataError } from './errors.ts'
import { reason } from './message.ts'
import { isObject } from './json.ts'
import { assertForeign } from './own-issuer.ts'
import { layMembers, readEach, readMembers, saidMembers } from './record-members.ts'
import {
  ENDPOINTS,
  GITHUB_PATH,
  hasIdTokens,
  kindOf,
  KNOWN_ISSUERS,
  OF_APPLE,
  OF_OAUTH,
  type SecretMethod,
  type UpstreamKind,
} from './upstream-kinds.ts'
import { asDomain, READERS } from './upstream-members.ts'

export interface UpstreamInformation {
  /** Its name in addresses and of its button: small letters, digits and hyphens. */
  id: string
  /** How it speaks; by default `openid`. */
  kind?: UpstreamKind
  /** As its metadata and its ID tokens have it; of one that has neither, the name by which its people are known here. */
  issuer: string
  /** What we are called there. */
  client_id: string
  /** Of the kind `oauth2`, and of no other: where it is asked. */
  authorization_endpoint?: string
  token_endpoint?: string
  userinfo_endpoint?: string
  /** Of the kind `oauth2`; by default `client_secret_basic`. */
  token_endpoint_auth_method?: SecretMethod
  /** Of the kind `oauth2`: what its userinfo says who somebody is by; by default `sub`. */
  subject_claim?: string
  /** Of the kind `apple`, and of no other. */
  team_id?: string
  key_id?: string
  /** What people read on the button; the host of the issuer where there is none. */
  name?: string
  /** What is asked for; by default `openid profile email`, of GitHub `read:user user:email`, of Apple `name email`, and of the kind `oauth2` nothing. */
  scope?: string[]
  /** Domains of mail addresses that are its people's. */
  domains?: string[]
  /** Whether an address of these domains that it has verified is believed; default false. */
  trust_email?: boolean
  /** Whether whoever comes from there may get an account; by default those alone whose address is believed. */
  sign_up?: boolean
  /** Whether who signs out here, having come from there, is led there to sign out too. Default false. */
  sign_out?: boolean
  /** Whether it has a button; without, people find it by their address. Default true. */
  button?: boolean
  /** By the name of a claim here, that of the claim there. */
  claims?: Record<string, string>
}

/** A column each: what is not said is null. The secret is sealed. */
export type StoredUpstream = {
  [Member in (typeof MEMBERS)[number]]: Exclude<UpstreamInformation[Member], undefined> | null
} & { id: string; issuer: string; client_id: string; client_secret: string | null }

/** Members to be laid over what is there; null takes one away, absent leaves it. */
export type LaidUpstream = { [Member in keyof UpstreamInformation]?: UpstreamInformation[Member] | null } & {
  id: string
  client_secret?: string | null
}

/** The same as it is given: lists, flags and mappings may come as a text, as people type them. */
export type UpstreamInput = {
  [Member in keyof UpstreamInformation]?: UpstreamInformation[Member] | string | null
} & { client_secret?: string | null }

const MEMBERS = [
  'kind',
  'issuer',
  'client_id',
  ...OF_OAUTH,
  ...OF_APPLE,
  'name',
  'scope',
  'domains',
  'trust_email',
  'sign_up',
  'sign_out',
  'button',
  'claims',
] as const
const SECRET = 'client_secret'

/**
 * Brings members to one form; lists and mappings may also come as one text, as people type them. Throws `invalid_client_metadata` that
 * names the member, also for our `own` issuer; `unknown` are names that nobody knows.
 */
export function parseUpstream(input: unknown, own: string): { members: LaidUpstream; unknown: string[] } {
  if (!isObject(input)) throw metadataError('upstream', 'must be an object')
  const { id, ...said } = input
  const read = readEach({
    id: () => readId(id),
    said: () => readMembers(READERS, said),
    issuer: () => isIssuerKnown(said['kind']) || assertLeft('issuer', said),
    client_id: () => assertLeft('client_id', said),
  })
  if (typeof said['issuer'] === 'string') assertForeign(said['issuer'], own)
  return { members: { id: read.id, ...read.said.members }, unknown: read.said.unknown }
}

function isIssuerKnown(kind: unknown): boolean {
  return typeof kind === 'string' && Object.hasOwn(KNOWN_ISSUERS, kind)
}

function readId(id: unknown): string {
  if (typeof id === 'string' && /^[a-z0-9][a-z0-9-]{0,62}$/.test(id)) return id
  throw metadataError('id', reason('must have 1 to 63 small letters, digits and hyphens'))
}

/** One that must be there cannot be taken away. */
function assertLeft(name: string, said: Readonly<Record<string, unknown>>): void {
  if (said[name] === null) throw metadataError(name, reason('is missing'))
}

/** What it is with the members laid over what it was. Throws `invalid_client_metadata` for one that must be there. */
export function layUpstream(before: StoredUpstream | undefined, laid: LaidUpstream): StoredUpstream {
  const after = { ...layMembers([...MEMBERS, SECRET], before, laid), id: laid.id } as StoredUpstream
  const kind = kindOf(after)
  const known = KNOWN_ISSUERS[kind]
  if (known !== undefined) after.issuer ??= known
  for (const name of ['issuer', 'client_id'] as const)
    if (after[name] === null) throw metadataError(name, reason('is missing'))
  assertOfKind(kind, after)
  // Any address would be believed.
  if (after.trust_email === true && (after.domains ?? []).length === 0)
    throw metadataError('trust_email', reason('needs domains: those whose addresses are believed'))
  if (after.button === false && (after.domains ?? []).length === 0)
    throw metadataError('button', reason('can only be left out with domains, by which people find it'))
  return after
}

/**
 * Throws for a secret, as it was typed, that one of this kind cannot use; and for none where it becomes of another kind: a key of Apple's is never sent,
 * and would be, where a secret is.
 */
export function assertSecret(
  before: StoredUpstream | undefined,
  after: StoredUpstream,
  secret: unknown,
): void {
  const isKey = kindOf(after) === 'apple'
  if (isKey && typeof secret === 'string') readAppleKey(secret)
  if (before === undefined || before.client_secret === null || secret !== undefined) return
  if ((kindOf(before) === 'apple') !== isKey) throw metadataError('client_secret', reason('is missing'))
}

/** What only some kinds have, others cannot be told. */
function assertOfKind(kind: UpstreamKind, after: StoredUpstream): void {
  for (const name of OF_OAUTH)
    if (kind !== 'oauth2' && after[name] !== null)
      throw metadataError(name, reason('is only registered of the kind oauth2'))
  for (const name of ENDPOINTS)
    if (kind === 'oauth2' && after[name] === null)
      throw metadataError(
        name,
        reason('is missing: an upstream of the kind oauth2 has no metadata that says it'),
      )
  for (const name of OF_APPLE)
    if ((kind === 'apple') === (after[name] === null))
      throw metadataError(
        name,
        kind === 'apple' ? reason('is missing') : reason('is only registered of the kind apple'),
      )
  if (kind === 'apple' && after.client_secret === null)
    throw metadataError('client_secret', reason('is missing'))
  if (kind === 'github' && !after.issuer.endsWith(GITHUB_PATH))
    throw metadataError(
      'issuer',
      reason('must end with {path}, as that of every GitHub', { path: GITHUB_PATH }),
    )
  if (kind === 'openid' && after.scope?.includes('openid') === false)
    throw metadataError('scope', reason('must be scope names, openid among them'))
  if (!hasIdTokens(after) && after.scope?.includes('openid') === true)
    throw metadataError('scope', reason('must be without openid: this kind of upstream has no ID tokens'))
  if (kind !== 'openid' && after.sign_out === true)
    throw metadataError(
      'sign_out',
      reason('needs an OpenID provider: this kind of upstream has no address for it'),
    )
}

/** Without the secret, and without what is not said. */
export function upstreamInformation(stored: StoredUpstream): UpstreamInformation {
  return { id: stored.id, ...saidMembers(MEMBERS, stored) } as UpstreamInformation
}

/** The domain of a mail address; `''` for what is no address. */
export function domainOf(address: string): string {
  const at = address.lastIndexOf('@')
  return at < 1 ? '' : asDomain(address.slice(at + 1))
}
