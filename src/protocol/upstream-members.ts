/** The members of an upstream, each brought to its one form; lists, flags and mappings may come as a text, as people type them. */
import { domainToASCII } from 'node:url'
import { StandardClaims } from './claims.ts'
import { metadataError } from './errors.ts'
import { isObject } from './json.ts'
import { reason } from './message.ts'
import { readBoolean, type ReadMember, readOneOf, readText } from './record-members.ts'
import { isScopeToken } from './scope.ts'
import { parseTyped } from './typed-pairs.ts'
import { isUnseen } from './unseen.ts'
import { ENDPOINTS, KINDS, OF_APPLE, SECRET_METHODS } from './upstream-kinds.ts'

/** Of a list. */
const MOST = 100

/** Each throws `invalid_client_metadata` that names the member. */
export const READERS: Readonly<Record<string, ReadMember>> = {
  kind: (value) => readOneOf('kind', value, KINDS),
  issuer: readIssuer,
  client_id: (value) => readText('client_id', value, 1024),
  ...Object.fromEntries(ENDPOINTS.map((name) => [name, (value: unknown) => readEndpoint(name, value)])),
  token_endpoint_auth_method: (value) => readOneOf('token_endpoint_auth_method', value, SECRET_METHODS),
  client_secret: (value) => readText('client_secret', value, 4096),
  subject_claim: readClaimName,
  ...Object.fromEntries(OF_APPLE.map((name) => [name, (value: unknown) => readText(name, value, 100)])),
  name(value) {
    const name = readText('name', value, 200)
    // It is what its button says.
    if (isUnseen(name)) throw metadataError('name', reason('must not be empty'))
    return name
  },
  scope: readScope,
  domains: readDomains,
  trust_email: (value) => readBoolean('trust_email', value),
  sign_up: (value) => readBoolean('sign_up', value),
  sign_out: (value) => readBoolean('sign_out', value),
  button: (value) => readBoolean('button', value),
  claims: readClaims,
}

/** OpenID Connect Discovery §4.3: compared as a string, so it is kept as it was typed. */
function readIssuer(value: unknown): string {
  const text = readText('issuer', value, 2048)
  if (!isAddress(text) || /[?#\s]/.test(text))
    throw metadataError('issuer', reason('must be an https address without a query and a fragment'))
  return text
}

/** RFC 6749 §3.1: it may have a query. Whether plain http is good enough is for the way out to say. */
function readEndpoint(member: string, value: unknown): string {
  const text = readText(member, value, 2048)
  if (!isAddress(text) || /[#\s]/.test(text))
    throw metadataError(member, reason('must be an https address without a fragment'))
  return text
}

function isAddress(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
}

function readList(member: string, value: unknown): string[] {
  const list: unknown = typeof value === 'string' ? value.split(/[\s,]+/).filter((one) => one !== '') : value
  if (Array.isArray(list) && list.length <= MOST && list.every((one) => typeof one === 'string')) return list
  throw metadataError(member, reason('must be a list of {most} at most', { most: MOST }))
}

function readScope(value: unknown): string[] {
  const names = readList('scope', value)
  if (!names.every(isScopeToken)) throw metadataError('scope', reason('must be scope names'))
  return [...new Set(names)]
}

function readDomains(value: unknown): string[] {
  const domains = readList('domains', value).map((one) => asDomain(one.replace(/^@/, '')))
  if (domains.some((one) => one === '' || one.length > 253 || !/^[a-z0-9.-]+\.[a-z0-9-]+$/.test(one)))
    throw metadataError('domains', reason('must be names such as example.com'))
  return [...new Set(domains)]
}

function readClaimName(value: unknown): string {
  if (typeof value === 'string' && isClaimName(value)) return value
  throw metadataError('subject_claim', reason('must be the name of a claim, such as id'))
}

function isClaimName(value: string): boolean {
  return /^[\x21-\x7e]{1,200}$/.test(value)
}

function readClaims(value: unknown): Record<string, string> {
  const { typed, twice } =
    typeof value === 'string' ? parseTyped(value, /[\s,]+/, /^([^=]*)=([^=]*)$/) : { typed: value }
  if (!isObject(typed)) throw metadataError('claims', reason('must be pairs such as email=mail'))
  for (const [ours, theirs] of Object.entries(typed)) {
    if (!Object.hasOwn(StandardClaims.properties, ours))
      throw metadataError('claims', reason('must begin with names of standard claims, such as email'))
    if (typeof theirs !== 'string' || !isClaimName(theirs))
      throw metadataError('claims', reason('must end with names of claims of the upstream'))
  }
  if (twice !== undefined)
    throw metadataError('claims', reason('names {claim} twice: leave one of them', { claim: twice }))
  return typed as Record<string, string>
}

/** The one form in which domains are compared; `''` for what is none. */
export function asDomain(text: string): string {
  return domainToASCII(text.toLowerCase())
}
