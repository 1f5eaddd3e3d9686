/**
 * The doors that plugins use, ours and a stranger's alike: the facts that pass through them and the shape of each.
 * Those that people come to are in `interaction-doors.ts`; which is of which kind tells `door-kinds.ts`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
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
  /** Those that were approved, where this access token alone is for fewer (RFC 8707 §2.2). */
  approvedResources?: readonly string[]
  /** Facts of the authorization request that live on with the Authorization. */
  parameters?: Bag
  /** How and when the end-user was authenticated; `time` in milliseconds since the epoch. */
  authentication?: { time: number; acr?: string; amr: readonly string[]; sid: string }
  /** The id of the remembered consent that it rests on: nothing is issued once that is withdrawn. */
  consent?: string
  /** Whether a refresh token belongs to it, where the client may use one. */
  refreshable?: boolean
  /** Spent in the same transaction that stores what is issued; a spent one is `invalid_grant`. */
  spends?: readonly { kind: string; handle: string }[]
  /** What this goes on from: tokens then name that Authorization, and its refresh token is replaced. */
  continues?: Continuation
}

/** A refresh token in use (RFC 6749 §6). */
export interface Continuation {
  readonly authorization: Authorization
  readonly refreshToken: string
  /** When it was presented, by `performance.now()`; by default when it is replaced. */
  readonly presentedAt?: number
}

/** The living record that tokens name; revoking it ends them. A client that acts for itself has none. */
export interface Authorization extends Granted {
  readonly id?: string
  readonly clientId: string
  readonly binding?: Binding
  /** Milliseconds since the epoch; absent before it is stored. */
  readonly createdAt?: number
}

/** One authenticated request at an endpoint. */
export interface Call {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly client: Client
  /** The parameters that were sent, without those that proved who the client is. */
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
  /** Whether pages of any origin may call it from a browser (CORS), without cookies; default false. */
  readonly cors?: boolean
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

/** What a client asks an end-user's approval for: an authorization request, or another protocol's own. */
export interface ApprovalRequest {
  readonly client: Client
  readonly scopes: ReadonlySet<string>
  /** Identifiers of the resources that were asked for (RFC 8707). */
  readonly resources: readonly string[]
  /** What the registered parameters made of the wire, by their names. */
  readonly parameters: Bag
  /** Where the answer will take the browser; absent where it takes it nowhere. */
  readonly redirectUri?: string
  /** What people must know before they decide, such as how the request came to them; for the consent page. */
  readonly notices?: readonly string[]
}

/** A request at the authorization endpoint (RFC 6749 §4.1.1) that passed every check. */
export interface AuthorizationRequest extends ApprovalRequest {
  readonly redirectUri: string
  readonly responseType: string
  readonly responseMode: string
  readonly state?: string
}

/** A parameter of the authorization request. */
export interface Parameter {
  readonly name: string
  /** Of the raw value: a string, or `Repeatable()`. */
  readonly schema: TSchema
  /**
   * What `parameters` holds under its name, for every request: `raw` is undefined where it was not sent. By default
   * the raw value. Throws `OAuthError`, which the client gets by redirect.
   */
  parse?(raw: Wire[string] | undefined, client: Client, wire: Wire): unknown
  /** Whether the value lives on with the Authorization, and the name if that is another; default false. */
  readonly kept?: boolean | string
  /** What it says on the consent page: asked for while it is new, and remembered by its key. */
  consent?(value: unknown): readonly ConsentLine[]
}

/** One thing that people allow beside scopes and resources. */
export interface ConsentLine {
  /** What is allowed with it, among the lines of its parameter: another key is asked for again. */
  readonly key: string
  /** For people, as it is shown and remembered. */
  readonly text: string
  /** Scopes that give the same: with one of them, allowed or asked for, there is nothing more to ask. */
  readonly scopes?: readonly string[]
}

/** Makes the answer to an approved request; its key is the `response_type`, words in alphabetical order. */
export interface ResponseType {
  respond(granted: Granted, request: AuthorizationRequest): Promise<Wire>
}

/** Takes the answer back to the client; its key is the `response_mode`. */
export interface ResponseMode {
  send(reply: FastifyReply, redirectUri: string, answer: Wire): FastifyReply
}

/** The browser session of a signed-in user. */
export interface Session {
  readonly sid: string
  readonly userId: string
  /** Milliseconds since the epoch. */
  readonly authenticatedAt: number
  readonly amr: readonly string[]
  readonly acr: string | null
}

/** What clients know users by (OpenID Connect Core §8); its key is the `subject_type`. */
export interface SubjectType {
  subject(userId: string, client: Client): string
}

/** What may still refuse a grant, whatever its type. */
export type Policy = (granted: Granted, call: Call) => Promise<void>

/** Stored things of a plugin's own, as JSON: hashed at rest, gone when they expire, replaced by compare-and-set. */
export interface Artifacts<Value extends object = Bag> {
  /**
   * Stores `value` under `handle`, or under 256 random bits; returns the handle. Throws when it is taken. Of those of
   * one `owner`, in the words of whoever stores them, the oldest give way to the newest `most`.
   */
  put(value: Value, handle?: string, bound?: { owner: string; most: number }): Promise<string>
  /** Null when it is not there, has expired or was spent. */
  get(handle: string): Promise<Value | null>
  /** False when `from` is no longer what is stored. */
  replace(handle: string, from: Value, to: Value): Promise<boolean>
}
