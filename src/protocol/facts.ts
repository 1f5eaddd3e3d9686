/** What is known of an approval, in the shape in which it is stored: as JSON, and in the columns of an Authorization. */
import type { Bag } from './bag.ts'

/** How and when an end-user was authenticated. */
export interface Authentication {
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly acr?: string
  /** RFC 8176. */
  readonly amr: readonly string[]
  /** The browser session: who signs out there ends what came of it. */
  readonly sid: string
  /** Of an Authorization: the `sub` by which its client knows them. It stays so (OpenID Connect Core §12.2). None where an earlier version stored it. */
  readonly sub?: string
}

/** Who acts for the subject (RFC 8693 §4.1): the newest outside, those before it in `act`. */
export interface Actor extends Bag {
  readonly sub: string
  readonly act?: Actor
}

/** What sender-constrains a token (RFC 7800 `cnf`). */
export interface Binding {
  readonly tokenType: string
  readonly cnf: Bag
}

/**
 * What something else was granted for, and takes along when it ends: an access token, or an Authorization. `parentOf` makes
 * one.
 */
export interface Parent {
  readonly clientId: string
  /** When it was granted, in milliseconds since the epoch: a client that was registered later is another. */
  readonly since: number
  /** The id of the Authorization; absent for a token that a client got for itself. */
  readonly authorization?: string
  /** The `sid` of the session that its Authorization outlives (OpenID Connect Core §11), and what was granted for it in that session too. */
  readonly outlives?: string
  /** The `jti`, where it is one token. */
  readonly token?: string
  /** The generation of the trusted issuer whose assertion it was, which ends what came of it when it is trusted no more. */
  readonly trust?: string
  /** The link by which its subject is a user's, by the name of the record. */
  readonly link?: string
  /** The id of the user whom that assertion means, who may sign in. */
  readonly user?: string
  /** When all that was begun for that user had ended last, as it was known then, in milliseconds since the epoch; 0 for never. */
  readonly ended?: number
  /** When it ends by itself, in milliseconds since the epoch; absent where that is not known. */
  readonly notAfter?: number
  /** What it was granted for itself. */
  readonly parent?: Parent
  /** What whoever acts proved themselves by (RFC 8693 §2.1, `actor_token`). */
  readonly actor?: Parent
}

/** `Granted`, as JSON has it and as columns do. What is absent may be null there. */
export interface StoredGranted {
  readonly subject?: string | null | undefined
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly approvedResources?: readonly string[] | null | undefined
  readonly parameters?: Bag | null | undefined
  readonly approvedParameters?: Bag | null | undefined
  readonly authentication?: Authentication | null | undefined
  readonly consent?: string | null | undefined
  readonly refreshable?: boolean | null | undefined
  readonly actor?: Actor | null | undefined
  readonly binding?: Binding | null | undefined
  readonly parent?: Parent | null | undefined
  /** JSON makes a text of it. */
  readonly notAfter?: Date | string | null | undefined
}
