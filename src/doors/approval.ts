/** What clients ask people to approve: the request, its parameters, and the way its answer goes back. */
import type { FastifyReply } from 'fastify'
import type { TSchema } from 'typebox'
import type { Bag } from '../protocol/bag.ts'
import type { Words } from '../protocol/message.ts'
import type { Wire } from '../protocol/wire.ts'
import type { ClientCall } from './back-channel.ts'
import type { Client } from './client.ts'
import type { Granted, Spend } from './facts.ts'

/** What a client asks an end-user's approval for: an authorization request, or another protocol's own. */
export interface ApprovalRequest {
  readonly client: Client
  /** RFC 6749 §3.3; those alone that the client may have. */
  readonly scopes: ReadonlySet<string>
  /** Identifiers of the resources that were asked for (RFC 8707). */
  readonly resources: readonly string[]
  /** What the registered parameters made of the wire, by their names. */
  readonly parameters: Bag
  /** The id of the user who alone may approve it, where the one who asks knows them; everybody may by default. */
  readonly user?: string
  /** Where the answer will take the browser; absent where it takes it nowhere. */
  readonly redirectUri?: string
  /**
   * What people must know before they decide, such as how the request came to them; for the consent page. It travels as JSON, so the values
   * of a message are texts and numbers.
   */
  readonly notices?: readonly Words[]
  /** What who asks shows the person too, so that they can tell that it is this request (CIBA Core 1.0 §7.1). */
  readonly bindingMessage?: string
}

/** What of an authorization request says how it is answered, also where the rest of it is refused. */
export interface AnsweredRequest {
  readonly client: Client
  /** One that is registered for the client. */
  readonly redirectUri: string
  /** One that is served. */
  readonly responseMode: string
  /** The key of the one that was asked for; absent where that is not served. */
  readonly responseType?: string
  readonly state?: string
}

/** A request at the authorization endpoint (RFC 6749 §4.1.1) that passed every check. */
export interface AuthorizationRequest extends ApprovalRequest, AnsweredRequest {
  readonly redirectUri: string
  readonly responseType: string
  /** The keys of the request sources that it came by, first to last; absent where it was sent as it is. */
  readonly sources?: readonly string[]
  /** As in `AskedRequest`. */
  readonly isSigned?: boolean
  /** What its source says is spent with its answer. */
  readonly spends?: readonly Spend[]
}

/** A parameter of the authorization request (RFC 6749 §8.2). */
export interface Parameter {
  /** On the wire. */
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
  /**
   * What of `had`, the value that lives on, this access token is for, where a token request sends the parameter again and
   * `parse` made `asked` of it; what was approved lives on as it is. Never more than `had`: throws `OAuthError` for that.
   * `had` is undefined where nothing was approved, as for a client that acts for itself. Without it, a token request says
   * nothing by this parameter.
   */
  narrow?(had: unknown, asked: unknown, client: Client): unknown
  /** What it says on the consent page: asked for while it is new, and remembered by its key unless it is for `once`. */
  consent?(value: unknown): readonly ConsentLine[]
  /**
   * What the line of this key says, for who looks later at what they have allowed, in whatever language they read then. By default, and
   * where it is undefined, the text that is remembered.
   */
  wordsOf?(key: string): Words | undefined
  /**
   * The resources where the value gives something by itself, by their identifiers. A request with such a value needs no scope, and its
   * tokens are for these too: of none, for those of its scopes, and without any for the server itself. By default it gives nothing
   * without a scope.
   */
  resources?(value: unknown): readonly string[]
  /** What of the value a token for these `resources` says; undefined for nothing. The same value, and by default all of it, where nothing is left out. */
  within?(value: unknown, resources: readonly string[]): unknown
  /**
   * What of the value that has `resources` its client may have by what is registered now, once people have approved it and with each token
   * of it; undefined for nothing. The same value, and by default all of it, where nothing is left out.
   */
  review?(value: unknown, client: Client): unknown
  /**
   * What of it a client gets that acts for itself, where it asks for it at the token endpoint (RFC 6749 §4.4). Throws `OAuthError`
   * for what it may not have. By default there is none: nobody has approved any.
   */
  forItself?(value: unknown, client: Client): unknown
  /**
   * What is left of the value where somebody has left out the scopes that give the lines of these keys; undefined for nothing.
   * Without it, nothing is.
   */
  decline?(value: unknown, keys: ReadonlySet<string>): unknown
}

/** One thing that people allow beside scopes and resources. */
export interface ConsentLine {
  /** What is allowed with it, among the lines of its parameter: another key is asked for again. */
  readonly key: string
  /** For people, as it is shown; remembered in English. */
  readonly text: Words
  /** Scopes that give the same: with one of them, allowed or asked for, there is nothing more to ask. */
  readonly scopes?: readonly string[]
  /** Whether it is allowed for this one request, as a payment is: asked for each time, and never remembered. Default false. */
  readonly once?: boolean
}

/** Makes the answer to an approved request; its key is the `response_type` (RFC 6749 §3.1.1), words in alphabetical order. */
export interface ResponseType {
  /**
   * The mode by which answers and errors travel that ask for none. With `fragment` they hold tokens, so that no mode takes them
   * that is in the query (OAuth 2.0 Multiple Response Type Encoding §5). Default `query`.
   */
  readonly defaultMode?: 'query' | 'fragment'
  /**
   * The members of the answer, without `state` and `iss`, which the server adds. `granted.spends` are spent with what the answer
   * stores: one that was spent before is refused. Throws `OAuthError`, which the client gets instead.
   */
  respond(granted: Granted, request: AuthorizationRequest, call: ClientCall): Promise<Wire>
}

/** Takes answers and errors back to the client; its key is the `response_mode` (OAuth 2.0 Multiple Response Type Encoding §2.1). */
export interface ResponseMode {
  /** Whether what it sends is in the query of an address, where logs and other sites get to see it: no tokens then. */
  readonly inQuery: boolean
  /** `answer` is all that the client is to know; who asked and where is in `request`. */
  send(reply: FastifyReply, request: AnsweredRequest, answer: Wire): FastifyReply | Promise<FastifyReply>
}

/** What an authorization response says (RFC 6749 §4.1.2, §4.1.2.1), for who adds to it. */
export interface AuthorizationAnswer {
  readonly request: AnsweredRequest
  /** What was approved; absent in an error. */
  readonly granted?: Granted
}
