/**
 * What is registered of an upstream, an OpenID provider by which people sign in here: its members by their names in SEED_FILE, on the
 * command line and on the pages, and what each must look like. The client's secret goes in alone, and never comes out.
 */
import { domainToASCII } from 'node:url'
import { StandardClaims } from './claims.ts'
import { metadataError } from './errors.ts'
import { reason } from './message.ts'
import { isObject } from './json.ts'
import { assertForeign } from './own-issuer.ts'
import {
  layMembers,
  readBoolean,
  readMembers,
  type ReadMember,
  readEach,
  readText,
  saidMembers,
} from './record-members.ts'
import { isScopeToken } from './scope.ts'
import { parseTyped } from './typed-pairs.ts'

export interface UpstreamInformation {
  /** Its name in addresses and of its button: small letters, digits and hyphens. */
  id: string
  /** As its metadata and its ID tokens have it. */
  issuer: string
  /** What we are called there. */
  client_id: string
  /** What people read on the button; the host of the issuer where there is none. */
  name?: string
  /** What is asked for; by default `openid profile email`. */
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

export const MEMBERS = [
  'issuer',
  'client_id',
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
const MOST = 100

const READERS: Readonly<Record<string, ReadMember>> = {
  issuer: readIssuer,
  client_id: (value) => readText('client_id', value, 1024),
  client_secret: (value) => readText('client_secret', value, 4096),
  name: (value) => readText('name', value, 200),
  scope: readScope,
  domains: readDomains,
  trust_email: (value) => readBoolean('trust_email', value),
  sign_up: (value) => readBoolean('sign_up', value),
  sign_out: (value) => readBoolean('sign_out', value),
  button: (value) => readBoolean('button', value),
  claims: readClaims,
}

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
    issuer: () => assertLeft('issuer', said),
    client_id: () => assertLeft('client_id', said),
  })
  if (typeof said['issuer'] === 'string') assertForeign(said['issuer'], own)
  return { members: { id: read.id, ...read.said.members }, unknown: read.said.unknown }
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
  for (const name of ['issuer', 'client_id'] as const)
    if (after[name] === null) throw metadataError(name, reason('is missing'))
  // Any address would be believed.
  if (after.trust_email === true && (after.domains ?? []).length === 0)
    throw metadataError('trust_email', reason('needs domains: those whose addresses are believed'))
  if (after.button === false && (after.domains ?? []).length === 0)
    throw metadataError('button', reason('can only be left out with domains, by which people find it'))
  return after
}

/** Without the secret, and without what is not said. */
export function upstreamInformation(stored: StoredUpstream): UpstreamInformation {
  return { id: stored.id, ...saidMembers(MEMBERS, stored) } as UpstreamInformation
}

/** OpenID Connect Discovery §4.3: compared as a string, so it is kept as it was typed. */
function readIssuer(value: unknown): string {
  const text = readText('issuer', value, 2048)
  const url = URL.parse(text)
  const isIssuer =
    url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (!isIssuer || /[?#\s]/.test(text))
    throw metadataError('issuer', reason('must be an https address without a query and a fragment'))
  return text
}

function readList(member: string, value: unknown): string[] {
  const list: unknown = typeof value === 'string' ? value.split(/[\s,]+/).filter((one) => one !== '') : value
  if (Array.isArray(list) && list.length <= MOST && list.every((one) => typeof one === 'string')) return list
  throw metadataError(member, reason('must be a list of {most} at most', { most: MOST }))
}

function readScope(value: unknown): string[] {
  const names = readList('scope', value)
  if (!names.every(isScopeToken) || !names.includes('openid'))
    throw metadataError('scope', reason('must be scope names, openid among them'))
  return [...new Set(names)]
}

function readDomains(value: unknown): string[] {
  const domains = readList('domains', value).map((one) => asDomain(one.replace(/^@/, '')))
  if (domains.some((one) => one === '' || one.length > 253 || !/^[a-z0-9.-]+\.[a-z0-9-]+$/.test(one)))
    throw metadataError('domains', reason('must be names such as example.com'))
  return [...new Set(domains)]
}

function readClaims(value: unknown): Record<string, string> {
  const { typed, twice } =
    typeof value === 'string' ? parseTyped(value, /[\s,]+/, /^([^=]*)=([^=]*)$/) : { typed: value }
  if (!isObject(typed)) throw metadataError('claims', reason('must be pairs such as email=mail'))
  for (const [ours, theirs] of Object.entries(typed)) {
    if (!Object.hasOwn(StandardClaims.properties, ours))
      throw metadataError('claims', reason('must begin with names of standard claims, such as email'))
    if (typeof theirs !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(theirs))
      throw metadataError('claims', reason('must end with names of claims of the upstream'))
  }
  if (twice !== undefined)
    throw metadataError('claims', reason('names {claim} twice: leave one of them', { claim: twice }))
  return typed as Record<string, string>
}

/** The one form in which domains are compared; `''` for what is none. */
function asDomain(text: string): string {
  return domainToASCII(text.toLowerCase())
}

/** The domain of a mail address; `''` for what is no address. */
export function domainOf(address: string): string {
  const at = address.lastIndexOf('@')
  return at < 1 ? '' : asDomain(address.slice(at + 1))
}
