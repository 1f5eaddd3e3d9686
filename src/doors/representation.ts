/** Other forms of what endpoints answer with, for callers who want them so: signed, encrypted. */
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
 * Another form of an endpoint's answers that have members and succeed; errors and redirects stay as they are. All that apply run in
 * the order of registration, each over what the one before it made: what is signed can be encrypted.
 */
export interface Representation {
  readonly name: string
  /** Of the endpoint, as that is registered, such as `/introspect`; `/userinfo` too. */
  readonly path: `/${string}`
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

/** An answer so far. */
export interface Represented extends Rendered {
  /** The members, as the endpoint gave them. */
  readonly body: Bag
}
