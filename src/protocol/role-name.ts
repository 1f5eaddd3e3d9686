/** What a role may be called, on every way in: one word, so that several of them are written with spaces or commas between. */
import { reason } from './message.ts'
import { memberError } from './errors.ts'

/** Whether a role may get this name. */
export function isRoleName(name: unknown): name is string {
  return wasRoleName(name) && !name.includes(',')
}

/** Whether one may have it from before: with a comma, which was part of a name once. */
export function wasRoleName(name: unknown): name is string {
  return typeof name === 'string' && /^[^\s\p{C}]{1,64}$/u.test(name)
}

/** Throws `invalid_request` that names `roles`; those that somebody has already (`had`) are good as they are. */
export function assertRoleNames(roles: readonly string[] = [], had: readonly string[] = []): void {
  if (!roles.every((role) => isRoleName(role) || had.includes(role))) throw noRoleNames()
}

export const noRoleNames = () =>
  memberError('invalid_request', 'roles', reason('must be a list of names without spaces or commas'))
