/** What clients call by themselves, without a browser, and the grants of the endpoint that gives tokens. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject } from 'typebox'
import type { Binding } from '../protocol/facts.ts'
import type { Wire } from '../protocol/wire.ts'
import type { Answer } from './answer.ts'
import type { Client } from './client.ts'
import type { Granted } from './facts.ts'

/** A request, and the client that is answered. */
export interface ClientCall {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly client: Client
}

/** One authenticated request at an endpoint. */
export interface Call extends ClientCall {
  /** At the token endpoint: what the request shows that it holds, to which what it gets is bound (RFC 7800 §3). */
  readonly binding?: Binding
  /** The parameters that were sent, without those that proved who the client is. */
  readonly wire: Wire
}

/** Handler of one `grant_type` (RFC 6749 §4.5). `P` are its own wire parameters. */
export interface Grant<P extends TObject = TObject> {
  /** The `grant_type`: a URI, where no standard has a name for it (§8.3). */
  readonly type: string
  /** What does not fit is `invalid_request`; others that were sent are in `call.wire`. */
  readonly parameters: P
  /** Whether a client without credentials may use it; default false. */
  readonly publicClients?: boolean
  /** Members of the token response that `Granted.response` may have; what it has beside them is left out. */
  readonly members?: readonly string[]
  /**
   * Establishes the facts, for the issuer to mint tokens of; or gives an `answer` of its own, where what it gives is no token of
   * ours, such as a statement for another server: then nothing is minted and no policy asked. Throws `OAuthError` with a code of
   * §5.2, such as `invalid_grant`.
   */
  authorize(parameters: Static<P>, call: Call): Promise<Granted | Answer>
}

/** What may still refuse a grant, whatever its type: before anything is spent. Throws `OAuthError`. */
export type Policy = (granted: Granted, call: Call) => Promise<void>
