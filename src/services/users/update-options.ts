/** What is said of a user beside their members, by whoever registers or changes them. */
import type { Kept } from './last-of-a-role.ts'
import type { User } from './user.ts'

/** What is known of a user who comes from elsewhere, beside their members. */
export interface ImportedUser {
  /** Their password's hash, in a form that is read here; it is replaced by one of ours when they first sign in. */
  passwordHash?: string | undefined
  /** They may not sign in. False leaves it as it is. */
  disabled?: boolean
}

/** What may be laid over a user beside their members, in the same transaction. */
export interface UpdateOptions extends ImportedUser, Kept {
  /** Whether they may sign in from then on: what `enable` and `disable` do. By default, it is left as it is. */
  enabled?: boolean | undefined
  /** Asked of the user as they are when they are changed: what it throws is thrown, and nothing is done. */
  judge?: Judge
}

export type Judge = (user: User) => void
