/** Rules that clients keep as a whole, such as FAPI 2.0: what a client must be registered as, and how it is served. */
import type { Bag } from '../protocol/bag.ts'

/** Its key is the name in `OIDC_PROFILE`, where it holds for every client, and in the member `profile` of one client. */
export interface Profile {
  /**
   * Members of client metadata that a client has under the profile, whatever is registered: a number is the most that it may be. Whoever
   * registers another is refused.
   */
  readonly locks: Bag
  /** What else may be registered, by the member. */
  readonly choices?: Readonly<Record<string, Choice>>
  /** Members that a client has which registers none of them, by the others that it has. */
  defaults?(metadata: Bag): Bag
  /**
   * Under OIDC_PROFILE: whether the scope with which an app registers itself is what it begins with, and no bound. Its users decide on each
   * all the same. Default false.
   */
  readonly growingScope?: boolean
  /** What neither says. Throws `OAuthError` (`invalid_client_metadata`, `invalid_redirect_uri`). */
  check?(metadata: Bag): void
}

/** Of a text, or of each entry of a list. */
export interface Choice {
  readonly among?: readonly string[]
  readonly never?: readonly string[]
  /** What a client has that registers none; without it, and with `among`, one must be registered. */
  readonly fallback?: string
  /** Whether it may be left unregistered all the same. Default false. */
  readonly optional?: boolean
  /** Members of the server metadata that hold what is offered: under OIDC_PROFILE they hold no more than this. */
  readonly supported?: readonly string[]
  /** Members of the server metadata that serve one value alone, by the value: under OIDC_PROFILE they are not there where it may not be registered. */
  readonly serving?: Readonly<Record<string, string>>
}
