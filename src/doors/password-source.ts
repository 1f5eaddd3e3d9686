/** Where passwords of people are kept that are none of ours, such as a directory: asked on the sign-in page, after our own. */
import type { Words } from '../protocol/message.ts'
import type { User } from './user.ts'

export interface PasswordSource {
  /**
   * Whose name and password these are, as they were typed; the password is never empty, and is not kept. Null for nobody's, in the same time
   * whether there is anybody of this name or not. `refused` is for who has shown who they are and cannot be let in, or where the source does
   * not answer (`status` 503): then nothing was found out. `browser` is for a source that bounds guesses by itself.
   */
  check(
    typed: { readonly username: string; readonly password: string },
    browser: KnownBrowser,
  ): Promise<PasswordAnswer>
  /** What is theirs of this user, and not ours to change; null for who is none of its people. */
  keeps(userId: string): Promise<KeptElsewhere | null>
  /**
   * Whether they are still among its people, as far as it knows: true for who is none of them, and while the source does not answer. Asked where a
   * session begins, whatever it begins by, at each page of the administration, and of each token of an administrator, so the source remembers for a
   * while what it found. What has changed there is laid over the user by then. Default true.
   */
  isThere?(userId: string): Promise<boolean>
}

/** The browser in which it was typed (docs/adr/0033-known-browsers.md). */
export interface KnownBrowser {
  /** What shows that the account has signed in with it before; null where nothing does. `whom` is asked where it shows anything at all. */
  markOf(whom: () => Promise<Pick<User, 'id' | 'username'> | null>): Promise<string | null>
}

export type PasswordAnswer =
  | { readonly user: User }
  | {
      readonly refused: Words
      /** Default 403. */
      readonly status?: number
      /** For `Retry-After`. */
      readonly seconds?: number
    }
  | null

export interface KeptElsewhere {
  /** Where their password is, as a sentence. */
  readonly password: Words
  /** Where it is changed, on the web; null where nobody has said. */
  readonly changeUri: string | null
  /** Claims that come from there, by their wire names: people do not change them here. */
  readonly claims: readonly string[]
}
