/** What makes tokens good only for who holds a key (`cnf`, RFC 7800 §3), such as DPoP (RFC 9449) and certificates (RFC 8705 §3). */
import type { SenderConstraint as CheckedConstraint } from '../../plugins/require-scope/sender-constraint.ts'
import type { Call } from './back-channel.ts'
import type { Client } from './client.ts'

/**
 * One way to bind tokens to a key. Of a token, the server owns `cnf` and `token_type`: a constraint only says what a request
 * shows, and the rest (which tokens carry it, who may refresh, which scheme a token comes under) is the same for all. With
 * `verify` and the members beside it, the same constraint is an option of `@latchkey/require-scope` elsewhere. What it
 * throws may also be an `OAuthError`.
 */
export interface SenderConstraint extends CheckedConstraint {
  /**
   * The registered, kept parameter of an authorization request that names the key which whoever redeems its code must show, in
   * the form that `bind` gives: `dpop_jkt` (RFC 9449 §10). A client that sends the request by itself may show the key instead
   * (`oauth.parametersShownBy`).
   */
  readonly requestParameter?: string | undefined
  /**
   * Whether what is shown binds a token only where its client or its resource asks for that: a certificate may be there without
   * being meant. Default false.
   */
  readonly onDemand?: boolean | undefined
  /**
   * What this request of a client shows that it holds, and its tokens will be bound to: the value of the constraint's member
   * of `cnf`. Undefined where it shows nothing. Throws `OAuthError` for a proof that is no good. Whether there must be one, the
   * server knows.
   */
  bind(call: Call): string | undefined | Promise<string | undefined>
}

/** What a profile demands of the proofs by which its clients show that they hold a key, beyond RFC 9449: of several rules each holds. */
export interface ProofRule {
  /** Of its own. */
  readonly name: string
  /** Undefined for a client that the rule is not about. */
  narrow(client: Client): ProofDemand | undefined
}

export interface ProofDemand {
  /** The only JWS algorithms, of those that are taken; default all of them. */
  readonly algorithms?: readonly string[]
}
