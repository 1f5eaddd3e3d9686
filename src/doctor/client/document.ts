/**
 * The metadata document of a client, as this server reads it (draft-ietf-oauth-client-id-metadata-document-00): the fetch, what is often wrong,
 * in words for whoever writes it, and then all of it by the server's own judgement.
 */
import type { Config } from '../../config.ts'
import type { Fetch } from '../../doors/outbound.ts'
import type { Bag } from '../../protocol/bag.ts'
import { parseClientIdUrl } from '../../protocol/client-id-url.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { JwkSetError, parseJwkSet } from '../../protocol/jwk-set.ts'
import { ask, readJson, shown, type Walk, well, Wrong } from './step.ts'

type Settings = Pick<Config, 'OIDC_CLIENT_METADATA_DOCUMENTS' | 'UNSAFE_OUTBOUND_ORIGINS' | 'issuer'>

/** Bytes (§6.6). */
const MOST_BYTES = 5120
const SECRETS = ['client_secret', 'client_secret_expires_at']
/** Methods that are by keys. */
const BY_KEYS: ReadonlySet<unknown> = new Set(['private_key_jwt', 'self_signed_tls_client_auth'])

/** What the server says of a document: throws `OAuthError` where it refuses it. */
export type Judge = (clientId: string, document: Bag) => Promise<unknown>

export async function* walkDocument(clientId: string, settings: Settings, fetch: Fetch, judge: Judge): Walk {
  assertAddress(clientId, settings)
  assertTaken(clientId, settings)
  yield well('client', `${clientId} may be a client_id of ${settings.issuer}`)

  const request = { headers: { accept: 'application/json' }, maxBytes: MOST_BYTES }
  const response = await ask(fetch, 'document', clientId, request)
  const document = await readJson(response, 'document', clientId, 'publish the document there')
  yield well('document', `It is JSON, of ${MOST_BYTES} bytes at most`)

  assertOwn(clientId, document)
  yield* walkKeys(document, fetch)
  await assertTakenBy(judge, clientId, document)
  const { length } = document['redirect_uris'] as readonly string[]
  yield well(
    'members',
    `It names itself, and ${count(length, 'address', 'addresses')} where people may be sent`,
  )
}

function assertAddress(clientId: string, { UNSAFE_OUTBOUND_ORIGINS: plain }: Settings): void {
  if (parseClientIdUrl(clientId, plain) !== null) return
  const wrong = (found: string, remedy: string) => new Wrong('client', `${clientId} ${found}`, remedy)
  const url = URL.parse(clientId)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw wrong('is no web address', 'give the address of a document')
  if (clientId.length > 200) throw wrong('has more than 200 characters', 'choose a shorter address')
  if (url.protocol !== 'https:' && !plain.includes(url.origin))
    throw wrong(
      'is not https',
      `serve it by https, or name ${url.origin} in UNSAFE_OUTBOUND_ORIGINS while you develop`,
    )
  if (url.username !== '' || url.password !== '') throw wrong('holds credentials', 'leave them out')
  if (clientId.includes('#')) throw wrong('has a fragment', 'leave it out')
  if (url.pathname === '/') throw wrong('has no path', 'put the document below a path, such as /client.json')
  throw wrong('is not written as browsers write it', `use ${url.href}`)
}

function assertTaken(clientId: string, { OIDC_CLIENT_METADATA_DOCUMENTS: taken, issuer }: Settings): void {
  const { host } = new URL(clientId)
  if (taken[0] === 'off')
    throw new Wrong(
      'client',
      `${issuer} takes no documents, since OIDC_CLIENT_METADATA_DOCUMENTS is off`,
      `set it to any or to ${host}, or OIDC_PROFILE=mcp`,
    )
  if (taken[0] !== 'any' && !taken.includes(host))
    throw new Wrong(
      'client',
      `OIDC_CLIENT_METADATA_DOCUMENTS does not name ${host}`,
      'add it, with its port where that is not the usual one',
    )
}

function assertOwn(clientId: string, document: Bag): void {
  const wrong = (found: string, remedy: string) => new Wrong('members', found, remedy)
  if (document['client_id'] !== clientId)
    throw wrong(`Its client_id is ${shown(document['client_id'])}`, `make it ${clientId}, letter by letter`)
  const secret = SECRETS.find((name) => (document[name] ?? null) !== null)
  if (secret !== undefined) throw wrong(`It has a ${secret}, which everybody reads`, 'leave it out')
  const { redirect_uris: uris, token_endpoint_auth_method: method } = document
  if (typeof method === 'string' && method.startsWith('client_secret_'))
    throw wrong(
      `Its token_endpoint_auth_method is ${method}, and there is no secret that both know`,
      'make it none, or private_key_jwt with jwks or jwks_uri',
    )
  if (!Array.isArray(uris) || uris.length === 0)
    throw wrong('It has no redirect_uris', 'name the addresses where people come back, as a list')
}

async function assertTakenBy(judge: Judge, clientId: string, document: Bag): Promise<void> {
  try {
    await judge(clientId, document)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    throw new Wrong('members', `The document is refused, since ${error.message}`, 'correct that member')
  }
}

async function* walkKeys(
  { jwks, jwks_uri: uri, token_endpoint_auth_method: method }: Bag,
  fetch: Fetch,
): Walk {
  if (jwks === undefined && uri === undefined) {
    if (!BY_KEYS.has(method)) return
    throw new Wrong(
      'keys',
      `It proves who it is by ${String(method)} and has no keys`,
      'add jwks or jwks_uri',
    )
  }
  if (jwks !== undefined && uri !== undefined)
    throw new Wrong('keys', 'It has both jwks and jwks_uri', 'leave one of them out')
  if (uri !== undefined && typeof uri !== 'string')
    throw new Wrong('keys', `Its jwks_uri is ${shown(uri)}`, 'make it the address of the keys')
  const keys =
    uri === undefined
      ? jwks
      : await readJson(await ask(fetch, 'keys', uri), 'keys', uri, 'publish the keys there')
  try {
    const { length } = parseJwkSet(keys)
    if (length === 0)
      throw new Wrong('keys', 'None of its keys is of use', 'add a public RSA, EC or Ed25519 key')
    yield well('keys', `It has ${count(length, 'public key', 'public keys')}`)
  } catch (error) {
    if (!(error instanceof JwkSetError)) throw error
    throw new Wrong(
      'keys',
      `${uri ?? 'jwks'} ${error.message}`,
      'make it a set of public keys (RFC 7517 section 5)',
    )
  }
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`
}
