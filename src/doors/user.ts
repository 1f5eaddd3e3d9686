/** Whom it is all for: an end-user, as everybody gets to see them. */

/** Immutable, and without what they are proven by. */
export interface User {
  /** The subject: what tokens name as `sub`. */
  readonly id: string
  readonly username: string
  readonly roles: readonly string[]
  /** Standard claims by their wire names (OpenID Connect Core §5.1). */
  readonly claims: Readonly<Record<string, unknown>>
  readonly disabled: boolean
  /** When they were disabled last, in milliseconds since the epoch; null where they are not. */
  readonly disabledAt: number | null
  /** When it is deleted, as they asked for, in milliseconds since the epoch; until then they can only keep it. Null where they did not ask. */
  readonly deletesAt: number | null
  /**
   * When all that was begun for them was ended last, in milliseconds since the epoch: by a new password, by disabling, by signing out elsewhere.
   * What was given to them before is good for nothing any more. Null for never.
   */
  readonly endedAt: number | null
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
}
