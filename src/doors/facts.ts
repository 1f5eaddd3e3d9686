/** The facts that pass from a grant to the issuer, live on in what tokens name, and come back when one is verified. */
import type { NewEvent } from '../events.ts'
import type { Bag } from '../protocol/bag.ts'
import type { OAuthError } from '../protocol/errors.ts'
import type { Actor, Authentication, Binding, Parent } from '../protocol/facts.ts'

/** What a grant has established: facts only. Nothing is minted and nothing is spent yet. */
export interface Granted {
  /** Of the Authorization that it will be: a UUID, good once; a new one by default. A code brings its own. */
  id?: string
  /**
   * The id of the user whom it stands for, never a name: a UUID, and `invalid_grant` where that is nobody who may sign in. Another text, of
   * at most 255 characters, is somebody of the plugin's own, whom the server knows nothing of. Absent: the client acts for itself, or for
   * another client.
   */
  subject?: string
  /** The client_id of the client that it stands for, where that is another: the `sub`. Then no Authorization is stored. */
  subjectClient?: string
  /** RFC 6749 §3.3. The issuer refuses what is not the client's (`invalid_scope`). */
  scopes: ReadonlySet<string>
  /** Identifiers of the resources that were asked for (RFC 8707); empty for those of the scopes. */
  resources: readonly string[]
  /**
   * Those that were approved before, where `resources` are fewer of them, for this access token alone (RFC 8707 §2.2), or the same array: of
   * these, what is gone meanwhile is left out.
   */
  approvedResources?: readonly string[]
  /** Facts of the authorization request that live on with the Authorization. */
  parameters?: Bag
  /** Those that were approved, where this access token alone is for less (`Parameter.narrow`). */
  approvedParameters?: Bag
  /** How and when the end-user was authenticated. */
  authentication?: Authentication
  /** The id of the remembered consent that it rests on: nothing is issued once that is withdrawn. */
  consent?: string
  /** The `sid` of the session in which it was allowed: nothing is issued once that has ended, at the same moment too; never stored. */
  whileSignedIn?: string
  /** Whether a refresh token belongs to it, where the client may use one. */
  refreshable?: boolean
  /** Who acts for the subject: the `act` of its access tokens (RFC 8693 §4.1). */
  actor?: Actor
  /**
   * What its tokens are bound to, as the token endpoint finds out and no grant. What a grant hands back of an Authorization or
   * a code that was bound is what the request must show again, of a public client.
   */
  binding?: Binding
  /** Members of `cnf` to which what it was granted for is bound: this token is, too, where the request shows them; never stored. */
  staysBound?: readonly string[]
  /** What it was granted for, and ends with, as `parentOf` makes it. */
  parent?: Parent
  /** No token of it is good any longer, of any kind. Milliseconds since the epoch. */
  notAfter?: number
  /** Members of this one token response that the grant has named (`Grant.members`); never stored. */
  response?: Bag
  /** Spent in the same transaction that stores what is issued; a spent one is `invalid_grant`. */
  spends?: readonly Spend[]
  /** What this goes on from: tokens then name that Authorization, and its refresh token is replaced. */
  continues?: Continuation
}

/** Something that is good once: an artifact, by its kind and handle; or what is only remembered when it is used, as of `oauth.once`. */
export interface Spend {
  /** Of the artifacts that it is one of, or of what is remembered. */
  readonly kind: string
  readonly handle: string
  /** Of what is remembered: when whoever checks it takes it for good no longer, a day ahead at most. */
  readonly until?: Date
  /** What is thrown where it was used before; `invalid_grant` by default. */
  readonly refusal?: OAuthError
  /** What the audit log is told then, where there is a `refusal`. */
  readonly refused?: NewEvent
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
  /** Milliseconds since the epoch; absent before it is stored. */
  readonly createdAt?: number
}

/** A token that was found good: signature or row, issuer, time, revocation, client, Authorization, and what it was granted for. */
export interface Verified {
  readonly claims: AccessTokenClaims
  readonly authorization?: Authorization
}

/** The claims of RFC 9068 §2.2 that every access token of ours has, and those that only some have. */
export interface AccessTokenClaims extends Bag {
  readonly iss: string
  readonly sub: string
  readonly client_id: string
  readonly jti: string
  /** Seconds since the epoch, as `exp` is. */
  readonly iat: number
  readonly exp: number
  readonly act?: Actor
  /** What it is bound to (RFC 7800). */
  readonly cnf?: Bag
  /** What it was granted for, where no Authorization says it. */
  readonly parent?: ParentClaim
}

/** `Parent` on the wire. */
export interface ParentClaim {
  readonly client_id: string
  /** Seconds since the epoch. */
  readonly iat: number
  readonly authorization_id?: string
  readonly jti?: string
  readonly trust?: string
  readonly link?: string
  readonly user?: string
  /** Milliseconds since the epoch. */
  readonly ended?: number
  readonly parent?: ParentClaim
  readonly actor?: ParentClaim
}
