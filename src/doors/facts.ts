/** The facts that pass from a grant to the issuer, live on in what tokens name, and come back when one is verified. */
import type { Bag } from '../protocol/bag.ts'

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

/** A token that was found good: signature or row, issuer, time, revocation, client and Authorization. */
export interface Verified {
  readonly claims: Bag
  readonly authorization?: Authorization
}
