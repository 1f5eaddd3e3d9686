/**
 * What is said of a user by whoever registers one: `username`, `password`, `roles` and the standard claims by their
 * wire names. Pure: whether the name is taken, and whether the password is good, is for the registry to say.
 */
import { parseUserClaims, StandardClaims } from './claims.ts'
import { memberError, type OAuthError } from './errors.ts'
import { isObject } from './json.ts'
import { isMailAddress } from './mail-address.ts'
import { reason, type Words } from './message.ts'
import { noRoleNames, wasRoleName } from './role-name.ts'
import { usernameProblem } from './username.ts'

export interface UserMembers {
  /** As it is shown: the space at its ends is gone. */
  username?: string
  password?: string
  roles?: string[]
  /** Null for one that shall be taken away. */
  claims: Record<string, unknown>
  /** Names that nobody knows: ignored, and named in a warning. */
  unknown: string[]
}

/** Directories give one for each group. */
export const MOST_ROLES = 500

/** Of an email address that is none. */
export const NO_ADDRESS = reason('must be an email address, such as alice@example.com')

/** The error for a member, and the reason (`reason`), in words for who registers the user. */
export function userError(member: string, why: Words): OAuthError {
  return memberError('invalid_request', member, why)
}

/** Throws `invalid_request` for a member that is malformed. A null member counts as absent, unless it is a claim. */
export function parseUserMembers(input: unknown): UserMembers {
  if (!isObject(input)) throw userError('user', 'must be an object')
  const { username, password, roles, ...others } = input
  return {
    ...(username === undefined || username === null ? {} : { username: parseUsername(username) }),
    ...(password === undefined || password === null ? {} : { password: parsePassword(password) }),
    ...(roles === undefined || roles === null ? {} : { roles: parseRoles(roles) }),
    ...parseClaims(others),
  }
}

function parseUsername(username: unknown): string {
  const problem = usernameProblem(username)
  if (problem !== undefined) throw userError('username', problem)
  return (username as string).trim()
}

function parsePassword(password: unknown): string {
  if (typeof password !== 'string') throw userError('password', reason('must be a text'))
  return password
}

function parseRoles(roles: unknown): string[] {
  // Of those with commas, only who has one may keep it, which the registry sees.
  if (!Array.isArray(roles) || !roles.every(wasRoleName)) throw noRoleNames()
  const names = [...new Set(roles)]
  if (names.length > MOST_ROLES)
    throw userError('roles', reason('must be {most} at most', { most: MOST_ROLES }))
  return names
}

/** Standard claims alone, also in other languages (`name#de`): a misspelt `password` must not end up among them. */
function parseClaims(input: Readonly<Record<string, unknown>>): Pick<UserMembers, 'claims' | 'unknown'> {
  const isStandard = (name: string) => Object.hasOwn(StandardClaims.properties, name.split('#', 1)[0] ?? '')
  const standard = Object.entries(input).filter(([name]) => isStandard(name))
  const { claims, unknown } = parseUserClaims(Object.fromEntries(standard))
  const { email } = claims
  if (typeof email === 'string' && !isMailAddress(email)) throw userError('email', NO_ADDRESS)
  return { claims, unknown: [...unknown, ...Object.keys(input).filter((name) => !isStandard(name))] }
}
