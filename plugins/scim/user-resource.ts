/** Users as SCIM has them: what is answered of one, and what is meant by what is sent. Names, addresses and the rest are standard claims here. */
import { createHash } from 'node:crypto'
import type { User } from '../../src/doors/user.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import type { Group } from '../../src/services/users/groups.ts'
import { ADDRESS, CLAIMS, NAMES, ONLY } from './claims.ts'
import { isMembers, isUnassigned, memberOf, valuesOf, type Members, type Value } from './attributes.ts'
import { scimError } from './errors.ts'
import { truthOf } from './matching.ts'
import { USER } from './messages.ts'

const ADDRESS_TYPE = 'work'

export type GroupsByRole = ReadonlyMap<string, Pick<Group, 'id' | 'displayName'>>

export interface Placed {
  /** The identifier that the client knows them by; undefined for none. */
  readonly externalId?: string | undefined
  /** By their roles, those that the user may be in. */
  readonly groups: GroupsByRole
  /** The address of all that SCIM has here. */
  readonly base: string
}

/** What is answered of a user, without what says whether it changed. */
export function userResource(user: User, { externalId, groups, base }: Placed): Members {
  const { claims, username, roles, disabled } = user
  const theirs = [...new Set(roles.flatMap((role) => groups.get(role) ?? []))]
  const others = roles.filter((role) => !groups.has(role))
  const resource = {
    schemas: [USER],
    id: user.id,
    ...(externalId === undefined ? {} : { externalId }),
    userName: username,
    ...named('name', present(NAMES, claims)),
    ...present(CLAIMS, claims),
    active: !disabled,
    ...Object.fromEntries(
      Object.entries(ONLY).flatMap(([name, { claim, type }]) =>
        isText(claims[claim])
          ? [
              [
                name,
                [{ value: claims[claim], type, ...(name === 'emails' ? { primary: true } : {}) }],
              ] as const,
            ]
          : [],
      ),
    ),
    ...addressOf(claims['address']),
    ...several(
      'roles',
      others.map((value) => ({ value })),
    ),
    ...several(
      'groups',
      theirs.map(({ id, displayName: display }) => ({
        value: id,
        $ref: `${base}/Groups/${id}`,
        display,
        type: 'direct',
      })),
    ),
    meta: {
      resourceType: 'User',
      created: new Date(user.createdAt).toISOString(),
      lastModified: new Date(user.updatedAt).toISOString(),
      location: `${base}/Users/${user.id}`,
    },
  }
  return { ...resource, meta: { ...resource.meta, version: versionOf(resource) } }
}

/** A weak entity tag (RFC 9110 §8.8.3): another one for whatever is answered otherwise. */
function versionOf(resource: Members): string {
  const hash = createHash('sha256').update(JSON.stringify(resource)).digest('base64url')
  return `W/"${hash.slice(0, 22)}"`
}

function addressOf(address: Value): Members {
  const parts = isMembers(address) ? present(ADDRESS, address) : {}
  if (Object.keys(parts).length === 0) return {}
  return { addresses: [{ ...parts, type: ADDRESS_TYPE }] }
}

/** Those of the names that are claims of the user, by their names in SCIM. */
function present(names: Readonly<Record<string, string>>, claims: Members): Members {
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, claim]) => (isText(claims[claim]) ? [[name, claims[claim]]] : [])),
  )
}

function several(name: string, values: readonly Members[]): Members {
  return values.length === 0 ? {} : { [name]: values }
}

function named(name: string, members: Members): Members {
  return Object.keys(members).length === 0 ? {} : { [name]: members }
}

function isText(value: Value): value is string {
  return typeof value === 'string' && value !== ''
}

/** What was sent of a user, in the words of the registry. */
export interface SentUser {
  readonly username: string
  /** Null for none. */
  readonly externalId: string | null
  /** Absent: as it is. */
  readonly active?: boolean | undefined
  readonly password?: string
  readonly roles?: readonly string[] | undefined
  /** Every claim that SCIM knows; null for one that is not there. */
  readonly claims: Bag
}

/** Reads a resource that is whole. Throws `invalidValue` that names the attribute. */
export function readUser(sent: Members): SentUser {
  const username = textOf(sent, 'userName')
  if (username === null) throw scimError('invalidValue', 'userName is missing')
  const active = booleanOf(memberOf(sent, 'active'), 'active')
  const password = textOf(sent, 'password')
  const roles = memberOf(sent, 'roles')
  return {
    username,
    externalId: textOf(sent, 'externalId'),
    ...(active === undefined ? {} : { active }),
    ...(password === null ? {} : { password }),
    ...(roles === undefined ? {} : { roles: valuesOf(roles).map(roleIn) }),
    claims: claimsOf(sent),
  }
}

function claimsOf(sent: Members): Bag {
  const name = memberOf(sent, 'name') ?? {}
  if (!isMembers(name)) throw scimError('invalidValue', 'name must be an object')
  return {
    ...textsOf(sent, CLAIMS),
    ...textsOf(name, NAMES),
    name: textOf(sent, 'displayName') ?? textOf(name, 'formatted'),
    ...Object.fromEntries(
      Object.entries(ONLY).map(([attribute, { claim, type }]) => {
        const kept = keptOf(memberOf(sent, attribute), attribute, type)
        return [claim, kept === undefined ? null : textOf(kept, 'value')]
      }),
    ),
    address: addressIn(sent),
  }
}

function addressIn(sent: Members): Members | null {
  const parts = textsOf(keptOf(memberOf(sent, 'addresses'), 'addresses', ADDRESS_TYPE) ?? {}, ADDRESS)
  const told = Object.entries(parts).filter(([, part]) => part !== null)
  return told.length === 0 ? null : Object.fromEntries(told)
}

function textsOf(sent: Members, names: Readonly<Record<string, string>>): Members {
  return Object.fromEntries(Object.entries(names).map(([name, claim]) => [claim, textOf(sent, name)]))
}

/** The value that their address is of; a patch that says nothing of it leaves this very object there. */
export function keptEmail({ emails }: Members): Members | undefined {
  return keptOf(emails, 'emails', ONLY.emails.type)
}

/** The primary value, or else the one of the type, or of none. */
function keptOf(value: Value, name: string, type: string): Members | undefined {
  const all = valuesOf(value).map((one) => complexOf(one, name))
  const isPrimary = (one: Members): boolean =>
    booleanOf(memberOf(one, 'primary'), `primary of ${name}`) === true
  const isOfType = (one: Members): boolean => [undefined, null, type].includes(lower(memberOf(one, 'type')))
  return all.findLast(isPrimary) ?? all.find(isOfType)
}

function lower(value: Value): string | null | undefined {
  return typeof value === 'string' ? value.toLowerCase() : (value as null | undefined)
}

function complexOf(value: Value, name: string): Members {
  if (isUnassigned(value)) return {}
  if (isMembers(value)) return value
  // Some write the value alone.
  if (typeof value === 'string') return { value }
  throw scimError('invalidValue', `${name} must be an object`)
}

function roleIn(role: Value): string {
  const value = isMembers(role) ? memberOf(role, 'value') : role
  if (typeof value !== 'string')
    throw scimError('invalidValue', 'each of roles must have a value that is a text')
  return value
}

/** Null for what is not there, or empty, as some send what they do not have. */
function textOf(sent: Members, name: string): string | null {
  const value = memberOf(sent, name)
  if (isUnassigned(value) || value === '') return null
  if (typeof value !== 'string') throw scimError('invalidValue', `${name} must be a text`)
  return value
}

function booleanOf(value: Value, name: string): boolean | undefined {
  if (value === undefined || value === null) return undefined
  const told = truthOf(value)
  if (typeof told === 'boolean') return told
  throw scimError('invalidValue', `${name} must be true or false`)
}
