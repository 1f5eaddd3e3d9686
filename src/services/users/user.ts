/** A user as the server hands it out: immutable, and without what it is proven by. */
import type { Claims } from '../../protocol/claims.ts'
import type { User } from '../../doors/user.ts'
import { addressKey } from '../../protocol/mail-address.ts'
import { ageOf } from '../../protocol/age-of.ts'
import type { UserRow } from '../../store/users.ts'

export type { User } from '../../doors/user.ts'

/** The role of administrators. */
export const ADMIN = 'admin'

/** Whether apps may have anything of the account: it is neither disabled nor waits to be deleted. */
export function isInUse({ disabled, deletesAt }: Pick<User, 'disabled' | 'deletesAt'>): boolean {
  return !disabled && deletesAt === null
}

/**
 * Whether what was begun for them at this instant, in milliseconds since the epoch, was ended later with all else of theirs. What is ahead
 * of our clock may have been begun before any end. It may have been begun up to `within` milliseconds later than at the instant.
 */
export function endedSince({ endedAt }: Pick<User, 'endedAt'>, at: number, within = 0): boolean {
  return endedAt !== null && (endedAt > at + within || ageOf(at) === Infinity)
}

/** What is known of a user, as claims: those stored, and what the server knows by itself. */
export function userClaims({ username, claims, updatedAt }: User): Claims {
  return { preferred_username: username, updated_at: Math.floor(updatedAt / 1000), ...claims }
}

/**
 * The address by which they may sign in, where nobody else has it: verified, and in the form in which addresses are compared. Null for none.
 * @internal
 */
export function emailKeyOf({ claims }: Pick<UserRow, 'claims'>): string | null {
  const { email, email_verified: isVerified } = claims
  return isVerified === true && typeof email === 'string' ? addressKey(email) : null
}

/** @internal */
export function toUser(row: UserRow): User {
  const { id, username, roles, claims, disabledAt, deletionDueAt, strangersBefore, createdAt, updatedAt } =
    row
  return frozen({
    id,
    username,
    roles,
    claims,
    disabled: disabledAt !== null && disabledAt !== undefined,
    disabledAt: disabledAt?.getTime() ?? null,
    deletesAt: deletionDueAt?.getTime() ?? null,
    endedAt: strangersBefore?.getTime() ?? null,
    createdAt: createdAt.getTime(),
    updatedAt: updatedAt.getTime(),
  })
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(frozen)
  return Object.freeze(value)
}
