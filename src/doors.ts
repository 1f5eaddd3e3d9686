/**
 * The doors that plugins use, ours and a stranger's alike: the facts that pass through them and the shape of each.
 * Three kinds: *dispatched* (one owner per key), *ordered* (all run, each may refuse), *additive* (all are merged,
 * none overrides what the server owns). `services/door-registry.ts` keeps what is registered.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject } from 'typebox'
import type { Wire } from './protocol/wire.ts'

export type Bag = Readonly<Record<string, unknown>>

/** A registered client as the server uses it: cached, immutable, and without its secrets. */
export interface Client {
  readonly clientId: string
  /** Milliseconds since the epoch. */
  readonly registeredAt: number
  /** What client_credentials may grant, in its order: the registered `scope` less the rights to introspect. */
  readonly grantableScopes: ReadonlySet<string>
  /** The registered `scope` list as it is. */
  readonly scope: readonly string[]
  readonly grantTypes: ReadonlySet<string>
  /** `token_endpoint_auth_method`; undefined while unset: then Basic and post both work. */
  readonly authenticationMethod: string | undefined
  /** Every registered member by its RFC 7591 name, plugins' own members included. */
  readonly metadata: Bag
  /** RFC 6749 §2.1: a client without credentials. */
  isPublic(): boolean
}

/** What sender-constrains a token (RFC 7800 `cnf`). */
export interface Binding {
  tokenType: string
  cnf: Bag
}

/** What a grant has established: facts only. Nothing is minted and nothing is spent yet. */
export interface Granted {
  /** Absent: the client acts for itself. */
  subject?: string
  scopes: ReadonlySet<string>
  /** Identifiers of the resources that were asked for (RFC 8707); empty for those of the scopes. */
  resources: readonly string[]
  /** Facts of the authorization request that live on with the Authorization. */
  parameters?: Bag
  /** How and when the end-user was authenticated; `time` in milliseconds since the epoch. */
  authentication?: { time: number; acr?: string; amr: readonly string[]; sid: string }
  /** Spent in the same transaction that stores what is issued; a spent one is `invalid_grant`. */
  spends?: readonly { kind: string; handle: string }[]
}

/** The living record that tokens name; revoking it ends them. A client that acts for itself has none. */
export interface Authorization extends Granted {
  readonly id?: string
  readonly clientId: string
  readonly binding?: Binding
}

/** One authenticated request at an endpoint. */
export interface Call {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly client: Client
  readonly wire: Wire
}

/** A token that was found good: signature or row, issuer, time, revocation, client and Authorization. */
export interface Verified {
  readonly kind: string
  readonly claims: Bag
  readonly authorization?: Authorization
}

/** Handler of one `grant_type`. `P` are its own wire parameters. */
export interface Grant<P extends TObject = TObject> {
  readonly type: string
  readonly parameters: P
  /** Whether a client without credentials may use it; default false. */
  readonly publicClients?: boolean
  /** Establishes the facts. Throws `OAuthError`. */
  authorize(parameters: Static<P>, call: Call): Promise<Granted>
}

/** A back-channel endpoint: POST of a form, answered with JSON that is never stored. */
export interface Endpoint<P extends TObject = TObject> {
  /** Below the issuer; served with and without a trailing slash. */
  readonly path: `/${string}`
  /** The metadata member that names it, such as `introspection_endpoint`. */
  readonly metadata: string
  /** Whether public clients may call it, named by `client_id` alone; default false. */
  readonly publicClients?: boolean
  readonly parameters: P
  handle(parameters: Static<P>, call: Call): Promise<Bag>
}

/** A way for clients to prove who they are; its key is the `token_endpoint_auth_method`. */
export interface ClientAuthentication {
  /** The client_ids that the request claims by this method, most likely reading first; null when it is not used. */
  recognizes(request: FastifyRequest, wire: Wire): readonly string[] | null
  /** Whether the request proves that it is `client`; called also with null, to take the same time. */
  authenticate(request: FastifyRequest, wire: Wire, client: Client | null, claimed: string): Promise<boolean>
}

/** What clients know users by (OpenID Connect Core §8); its key is the `subject_type`. */
export interface SubjectType {
  subject(userId: string, client: Client): string
}

export interface Dispatched {
  clientAuthentication: ClientAuthentication
  subjectType: SubjectType
}

/** What may still refuse a grant, whatever its type. */
export type Policy = (granted: Granted, call: Call) => Promise<void>

export interface Ordered {
  policy: Policy
}

/** Contributions that are merged into a document; the server's own members win. */
export interface Additive {
  tokenResponse: Authorization
  access_token: Authorization
  introspection: Verified
  metadata: Bag
}

/** Stored things of a plugin's own: hashed at rest, gone when they expire, replaced by compare-and-set. */
export interface Artifacts {
  /** Stores `value` under `handle`, or under 256 random bits; returns the handle. Throws when it is taken. */
  put(value: Bag, handle?: string): Promise<string>
  /** Null when it is not there, has expired or was spent. */
  get(handle: string): Promise<Bag | null>
  /** False when `from` is no longer what is stored. */
  replace(handle: string, from: Bag, to: Bag): Promise<boolean>
}
