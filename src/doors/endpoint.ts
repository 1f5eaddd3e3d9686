/** Addresses that programs call: what they send, who calls, and what they are answered. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject } from 'typebox'
import type { AccessToken } from '../../plugins/require-scope/access-token.ts'
import type { Bag } from '../protocol/bag.ts'
import type { Wire } from '../protocol/wire.ts'
import type { Answer } from './answer.ts'
import type { Call } from './back-channel.ts'
import type { FailureForm } from './failure-form.ts'

/** What a request brought, once it is known to be well-formed. */
export interface Sent {
  /** The parameters of the form, or of the query where the method has no body; none of a JSON body. */
  readonly wire: Wire
  /** The members of a JSON body, also those that `parameters` does not name; of a form there are none. */
  readonly body: Bag
  /** What stands in the address for `:name`, decoded. */
  readonly path: Readonly<Record<string, string>>
}

/** A request of anybody: who it is, if that matters, is for the handler to find out. */
export interface OpenCall extends Sent {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** A request with an access token of ours in its header, for the server itself. */
export interface BearerCall extends OpenCall {
  readonly token: AccessToken
}

/** What handlers get, by who may call. */
export interface EndpointCalls {
  client: Call & Sent
  bearer: BearerCall
  anybody: OpenCall
}
export type Caller = keyof EndpointCalls

export type EndpointMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * One method at one path. The house has done the rest when `handle` is called: the slash, other methods (405 with `Allow`),
 * who calls, sizes and depth, what the body must be; answers are never stored.
 */
export interface Endpoint<P extends TObject = TObject, Who extends Caller = 'client'> {
  /** Below the issuer; served with and without a trailing slash. `:name` stands for a segment that the call has in `path`. */
  readonly path: `/${string}`
  /** Default POST; each method of a path is registered by itself. GET answers HEAD too. */
  readonly method?: EndpointMethod
  /** The metadata member that names it (RFC 8414 §2), such as `introspection_endpoint`; without it, the metadata is silent. */
  readonly metadata?: string
  /**
   * Who may call: an authenticated `client`, the default; `bearer`, who sends an access token of ours in the header (RFC 6750 §2.1); or
   * `anybody`.
   */
  readonly caller?: Who
  /** What a body is: a `form`, the default, or an object of `json`. The same for all methods of a path. */
  readonly body?: 'form' | 'json'
  /** Whether public clients may call it, named by `client_id` alone in a form; default false. */
  readonly publicClients?: boolean
  /** Scopes that a `bearer`'s token must have, all of them; else 403 `insufficient_scope` (RFC 6750 §3.1). */
  readonly scopes?: readonly string[]
  /**
   * Which tokens of a `bearer` are taken: by default those for the server itself. A plugin that registers `@latchkey/require-scope` for a
   * resource of its own gives what that registration decorates.
   */
  readonly requireScope?: FastifyInstance['requireScope']
  /** Whether pages of any origin may call it from a browser (CORS), without cookies; the same for all methods. Default false. */
  readonly cors?: boolean
  /** How what is refused there is told, also before `handle` is called; the same for all methods. By default as RFC 6749 §5.2 has it. */
  readonly failures?: FailureForm
  /** Of the form or the query, or of the JSON body's own members: what does not fit is `invalid_request`. */
  readonly parameters: P
  /** The members of a JSON answer (200), or an `answer`. Throws `OAuthError`. */
  handle(parameters: Static<P>, call: EndpointCalls[Who]): Promise<Bag | Answer>
}
