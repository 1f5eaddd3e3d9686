/** What is said of a user beside their members, by whoever registers or changes them. */
import type { Query } from '../../store/statement.ts'
import type { Note } from '../audit/audit.ts'
import type { Kept } from './last-of-a-role.ts'
import type { User } from './user.ts'

/** What is known of a user who comes from elsewhere, beside their members. */
export interface ImportedUser {
  /** Their password's hash, in a form that is read here; it is replaced by one of ours when they first sign in. */
  passwordHash?: string | undefined
  /** They may not sign in. False leaves it as it is. */
  disabled?: boolean
  /** @internal What goes with it. */
  also?: Also
}

/** @internal What goes with a user or a change of one, in the same transaction: neither is there without the other. */
export type Also = (query: Query, note: Note, userId: string) => Promise<void>

/** What may be laid over a user beside their members, in the same transaction. */
export interface UpdateOptions extends ImportedUser, Kept {
  /** Whether a `username` of another lookup form renames them; else it is refused, as it mostly is another user who is meant. */
  mayRename?: boolean
  /** Whether an address stays without which they have no way in: it throws `NoWayIn` then. By default it goes, and the audit log tells it. */
  keepsWayIn?: boolean
  /** Whether they may sign in from then on: what `enable` and `disable` do. By default, it is left as it is. */
  enabled?: boolean | undefined
  /** Asked of the user as they are when they are changed: what it throws is thrown, and nothing is done. */
  judge?: Judge
}

export type Judge = (user: User) => void
