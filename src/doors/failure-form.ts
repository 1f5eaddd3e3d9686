/** How an endpoint says no, where the protocol that it speaks has a form of its own for that. */
import type { Bag } from '../protocol/bag.ts'

/** A request that was refused, or failed. */
export interface Failure {
  /** The HTTP status. */
  readonly status: number
  /** That of the `OAuthError`, or of RFC 6750 §3.1; absent where no token came. */
  readonly code?: string | undefined
  /** For developers; it quotes nothing of the request. */
  readonly description: string
  /** The member of what was sent that it is about, where it is about one. */
  readonly member?: string | undefined
}

export interface FailureForm {
  /** The media type, such as `application/problem+json`. */
  readonly type: string
  /** The JSON body. Must not throw. */
  body(failure: Failure): Bag
}
