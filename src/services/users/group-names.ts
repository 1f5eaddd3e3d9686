/** What groups are called: the role that a name makes, and which two names are one. */
import { memberError, OAuthError } from '../../protocol/errors.ts'
import { isRoleName } from '../../protocol/role-name.ts'
import { ADMIN } from './user.ts'

/** A name without spaces and commas. */
function roleNamed(displayName: string): string {
  return tidy(displayName).replaceAll(/[\s,]+/gu, '-')
}

/** Before commas were refused, they stayed. */
export function formerRoleNamed(displayName: string): string {
  return tidy(displayName).replaceAll(/\s+/gu, '-')
}

function tidy(name: string): string {
  return name.normalize('NFC').trim()
}

/** Throws `invalid_request` for what cannot be one, and `access_denied` for that of administrators. */
export function roleOf(displayName: string): string {
  const role = roleNamed(displayName)
  // Of many spaces, the role has one.
  if (!/^\P{C}{1,64}$/u.test(displayName) || !isRoleName(role))
    throw memberError('invalid_request', 'displayName', 'must have 1 to 64 characters that are seen')
  if (role.toLowerCase() === ADMIN)
    throw new OAuthError('access_denied', 'nobody is made an administrator by a group')
  return role
}

/** Two that differ in case alone are one. */
export function keyOf(role: string): string {
  return role.toLowerCase()
}

/** By which a group of this name may be found. */
export function keysOf(displayName: string): readonly string[] {
  return [...new Set([roleNamed(displayName), formerRoleNamed(displayName)].map(keyOf))]
}
