/**
 * Names at the doors have one owner each. Those that the server answers to by itself are taken before any plugin comes; so
 * that nothing of ours is replaced, and no plugin waits for what another one gets.
 */
import { ConfigError } from '../config.ts'
import type { Additive } from './kinds.ts'
import { StandardClaims } from '../protocol/claims.ts'

/** A document that is merged while requests are served. `metadata` is merged once, at the start, and judged then. */
export type Document = Exclude<keyof Additive, 'metadata'>

/** What proves who a client is by the standards (RFC 6749 §2.3.1, RFC 7521 §4.2), whether a method reads it here or not. */
const CREDENTIALS = ['client_secret', 'client_assertion', 'client_assertion_type']
/** What the authorization endpoint reads itself, and what no handler shall see. */
const PARAMETERS = [
  'client_id', 'redirect_uri', 'response_type', 'response_mode', 'state', 'resource', 'code_challenge_method',
  'request', 'request_uri', 'registration', ...CREDENTIALS,
] // prettier-ignore
const CLAIMS = Object.keys(StandardClaims.properties)
/** What the server says in each document. */
const MEMBERS: Readonly<Record<Document, readonly string[]>> = {
  tokenResponse: ['token_type', 'access_token', 'expires_in', 'refresh_token', 'scope'],
  access_token: ['iss', 'sub', 'aud', 'client_id', 'scope', 'iat', 'exp', 'jti', 'authorization_id', 'act', 'parent', 'cnf', 'acr', 'auth_time'],
  id_token: [
    'iss', 'sub', 'aud', 'iat', 'exp', 'auth_time', 'nonce', 'acr', 'amr', 'sid', 'at_hash', 'c_hash',
    's_hash', ...CLAIMS,
  ],
  userinfo: ['sub', ...CLAIMS],
  introspection: [
    'active', 'scope', 'client_id', 'username', 'token_type', 'exp', 'iat', 'sub', 'aud', 'iss', 'jti', 'act', 'cnf', 'acr',
    'auth_time',
  ],
  authorizationResponse: [
    'code', 'access_token', 'token_type', 'expires_in', 'scope', 'id_token', 'state', 'iss', 'response',
    'error', 'error_description', 'error_uri',
  ],
} // prettier-ignore

/** What plugins set themselves before there was a door for it, as the error calls it. */
const DOORS: ReadonlyMap<string, string> = new Map(
  [
    'access_token member cnf',
    'introspection member cnf',
    'introspection member token_type',
    'tokenResponse member token_type',
  ].map((name) => [name, 'senderConstraint']),
)

/** How the kinds are called that are taken at the doors of `plugins/oauth/index.ts`, beside those of `kinds.ts`. */
export type OwnedKind = 'artifact kind' | 'record kind' | 'throttle kind' | 'self-registration'

export interface TakenNames {
  /** Throws `ConfigError` for one that is taken; `kind` is how the error calls it. */
  take(kind: string, name: string): void
  /** The same for one that several of a `group` may have, and nobody else. */
  share(kind: string, name: string, group: string): void
  /** Parameters that carry proofs of clients, which no handler sees. */
  readonly credentials: ReadonlySet<string>
  /** One more of them; several methods may read it. Throws `ConfigError` for one that a handler reads. */
  takeCredential(name: string): void
  /** A handler reads these parameters. Throws `ConfigError` for one that carries a proof. */
  read(names: Iterable<string>): void
  /** Whether a handler or the server itself reads the parameter `name` anywhere, or it proves who a client is. */
  isRead(name: string): boolean
}

export function createTakenNames(): TakenNames {
  const parameters = new Set(PARAMETERS)
  const credentials = new Set(CREDENTIALS)
  // Of every request for approval, whatever plugins there are.
  const read = new Set(['scope'])
  const taken = new Map<string, Set<string>>([['parameter', parameters]])
  for (const [document, names] of Object.entries(MEMBERS)) taken.set(memberOf(document), new Set(names))
  const shared = new Map<string, string>()

  function take(kind: string, name: string): void {
    const names = taken.get(kind) ?? new Set()
    if (names.has(name) || name === '__proto__') throw isTaken(`${kind} ${name}`)
    taken.set(kind, names.add(name))
  }

  return {
    take,
    share(kind, name, group) {
      if (shared.get(`${kind} ${name}`) === group) return
      take(kind, name)
      shared.set(`${kind} ${name}`, group)
    },
    credentials,
    takeCredential(name) {
      if (credentials.has(name)) return
      if (parameters.has(name) || read.has(name)) throw new ConfigError(`The credential ${name} is taken.`)
      parameters.add(name)
      credentials.add(name)
    },
    read(names) {
      for (const name of names) {
        if (credentials.has(name))
          throw new ConfigError(`The parameter ${name} is taken: it proves who a client is.`)
        read.add(name)
      }
    },
    isRead: (name) => parameters.has(name) || read.has(name),
  }
}

function isTaken(what: string): ConfigError {
  const door = DOORS.get(what)
  return new ConfigError(
    `The ${what} is taken${door === undefined ? '.' : `: it follows from oauth.add('${door}', …).`}`,
  )
}

/** How a member of a document is called. */
export function memberOf(document: string): string {
  return `${document} member`
}
