/** Other forms of answers and ID tokens, for clients who want them so: signed (RFC 9701, OpenID Connect Core §5.3.2), encrypted (§10.2). */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Bag } from '../protocol/bag.ts'
import type { Client } from './client.ts'

/** The request that is answered. */
export interface RepresentedCall {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Whom the answer is for; absent at an endpoint for bearers or for anybody. */
  readonly client?: Client
}

/**
 * Another form of an endpoint's answers that have members and succeed (errors and redirects stay as they are), or of ID tokens. All
 * that apply run in the order of registration, each over what the one before it made: what is signed can be encrypted.
 */
export interface Representation {
  readonly name: string
  /** The path of the endpoint, as that is registered, such as `/introspect`; `/userinfo` too. Or `id_token`, wherever it goes. */
  readonly of: `/${string}` | 'id_token'
  /** Whether this call is answered so: by what it accepts, or by what the client is registered for. */
  applies(call: RepresentedCall): boolean
  /** Throws `OAuthError`, which is answered instead. */
  render(made: Represented, call: RepresentedCall): Promise<Rendered>
}

export interface Rendered {
  readonly text: string
  /** The media type, such as `application/jwt`. */
  readonly type: string
}

/** What was made so far. */
export interface Represented extends Rendered {
  /** The members, as the endpoint gave them; of an ID token the claims. */
  readonly body: Bag
}
