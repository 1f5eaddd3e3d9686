/** A user as the server hands it out: immutable, and without what it is proven by. */
import type { Claims } from '../../protocol/claims.ts'
import type { User } from '../../doors/user.ts'
import type { UserRow } from '../../store/users.ts'

export type { User } from '../../doors/user.ts'

/** The role of administrators. */
export const ADMIN = 'admin'

/** What is known of a user, as claims: those stored, and what the server knows by itself. */
export function userClaims({ username, claims, updatedAt }: User): Claims {
  return { preferred_username: username, updated_at: Math.floor(updatedAt / 1000), ...claims }
}

/** @internal */
export function toUser({ id, username, roles, claims, disabledAt, updatedAt }: UserRow): User {
  return frozen({
    id,
    username,
    roles,
    claims,
    disabled: disabledAt !== null && disabledAt !== undefined,
    updatedAt: updatedAt.getTime(),
  })
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(frozen)
  return Object.freeze(value)
}
