/** What groups are called: the role that a name makes, and which two names are one. */
import { memberError, OAuthError } from '../../protocol/errors.ts'
import { ADMIN } from './user.ts'

/** A name without spaces. */
export function roleNamed(displayName: string): string {
  return displayName.normalize('NFC').trim().replaceAll(/\s+/gu, '-')
}

/** Throws `invalid_request` for what cannot be one, and `access_denied` for that of administrators. */
export function roleOf(displayName: string): string {
  const role = roleNamed(displayName)
  // Of many spaces, the role has one.
  if (!/^\P{C}{1,64}$/u.test(displayName) || !/^[^\s\p{C}]{1,64}$/u.test(role))
    throw memberError('invalid_request', 'displayName', 'must have 1 to 64 characters that are seen')
  if (role.toLowerCase() === ADMIN)
    throw new OAuthError('access_denied', 'nobody is made an administrator by a group')
  return role
}

/** Two that differ in case alone are one. */
export function keyOf(name: string): string {
  return roleNamed(name).toLowerCase()
}
