/** Groups as SCIM has them: what is answered of one, and what is meant by what is sent. */
import { externalIdOf, type Group, type GroupChange, type Keeper } from '../../src/services/users/groups.ts'
import {
  isMembers,
  isUnassigned,
  memberOf,
  nameOfPlace,
  valuesOf,
  type Members,
  type Value,
} from './attributes.ts'
import { scimError } from './errors.ts'
import type { Filter } from './filter.ts'
import { parsePath } from './filter.ts'
import { GROUP_SCHEMA } from './group-schema.ts'
import { GROUP } from './messages.ts'
import type { Operation } from './patch.ts'

export interface GroupPlace {
  /** Who asks. */
  readonly client: Keeper
  /** The address of all that SCIM has here. */
  readonly base: string
}

/** `members` are absent where nobody asked for them. */
export function groupResource(
  group: Group,
  members: readonly string[] | undefined,
  { client, base }: GroupPlace,
): Members {
  const { id, displayName, createdAt, updatedAt } = group
  const externalId = externalIdOf(group, client)
  return {
    schemas: [GROUP],
    id,
    ...(externalId === null ? {} : { externalId }),
    displayName,
    ...(members === undefined || members.length === 0
      ? {}
      : {
          members: members.map((value) => ({
            value,
            $ref: `${base}/Users/${value}`,
            type: 'User',
          })),
        }),
    meta: {
      resourceType: 'Group',
      created: new Date(createdAt).toISOString(),
      lastModified: new Date(updatedAt).toISOString(),
      location: `${base}/Groups/${id}`,
      version: versionOf(group),
    },
  }
}

/** Another one after each change of it, and of who is in it. */
export function versionOf({ revision, updatedAt }: Group): string {
  return `W/"${revision}-${updatedAt}"`
}

/** Reads a resource that is whole. Throws `invalidValue` that names the attribute. */
export function readGroup(
  sent: Members,
): Required<Pick<GroupChange, 'displayName' | 'externalId' | 'members'>> {
  const displayName = nameIn(memberOf(sent, 'displayName'))
  const members = memberOf(sent, 'members')
  return { displayName, externalId: identifierIn(memberOf(sent, 'externalId')), members: idsIn(members) }
}

/** What these change, one after the other. Throws `invalidPath`, `invalidValue`, `mutability` and `noTarget`. */
export function changeBy(operations: readonly Operation[]): GroupChange {
  const change = new Changing()
  for (const { op, path, value } of operations) {
    if (path !== undefined) change.apply(op, path, value)
    else if (!isMembers(value)) throw scimError('invalidValue', `${op} without a path needs an object`)
    else
      for (const [name, given] of Object.entries(value))
        if (!/^(?:id|schemas|meta)$/i.test(name)) change.apply(op, name, given)
  }
  return change.whole()
}

class Changing {
  #displayName: string | undefined
  #externalId: string | null | undefined
  /** Whether nobody of before is in it any more. */
  #emptied = false
  readonly #added = new Set<string>()
  readonly #removed = new Set<string>()

  apply(op: Operation['op'], path: string, value: Value): void {
    const { attribute, sub, which } = parsePath(GROUP_SCHEMA, path)
    if (sub !== undefined)
      throw scimError('mutability', `${nameOfPlace({ attribute, sub })} cannot be changed`)
    if (attribute.name === 'members') this.#changeMembers(op, which, value)
    else if (attribute.name === 'displayName' && op !== 'remove') this.#displayName = nameIn(value)
    else if (attribute.name === 'externalId') this.#externalId = op === 'remove' ? null : identifierIn(value)
    else throw scimError('mutability', `${attribute.name} cannot be changed`)
  }

  #changeMembers(op: Operation['op'], which: Filter | undefined, value: Value): void {
    if (which !== undefined) {
      if (op !== 'remove') throw scimError('noTarget', 'members are added, and taken away')
      return this.#remove(idsNamed(which))
    }
    if (op === 'remove' && !isUnassigned(value)) return this.#remove(idsIn(value))
    if (op !== 'add') this.#empty()
    if (op !== 'remove') this.#add(idsIn(value))
    return undefined
  }

  #empty(): void {
    this.#emptied = true
    this.#added.clear()
    this.#removed.clear()
  }

  #add(ids: readonly string[]): void {
    for (const id of ids) {
      this.#added.add(id)
      this.#removed.delete(id)
    }
  }

  #remove(ids: readonly string[]): void {
    for (const id of ids) {
      this.#added.delete(id)
      this.#removed.add(id)
    }
  }

  whole(): GroupChange {
    const [added, removed] = [[...this.#added], [...this.#removed]]
    return {
      ...(this.#displayName === undefined ? {} : { displayName: this.#displayName }),
      ...(this.#externalId === undefined ? {} : { externalId: this.#externalId }),
      ...(this.#emptied ? { members: added } : { added, removed }),
    }
  }
}

/** Those that a filter in brackets names each by its id. */
function idsNamed(filter: Filter): readonly string[] {
  if ('any' in filter) return filter.any.flatMap(idsNamed)
  if ('place' in filter && filter.is === 'eq' && filter.place.sub?.name === 'value')
    return [String(filter.value)]
  throw scimError('invalidPath', 'the path must name members by their value')
}

function idsIn(members: Value): readonly string[] {
  return valuesOf(members).map((member) => {
    const id = isMembers(member) ? memberOf(member, 'value') : member
    if (typeof id !== 'string')
      throw scimError('invalidValue', 'each of members must have a value that is an id')
    return id
  })
}

function nameIn(value: Value): string {
  if (typeof value !== 'string' || value.trim() === '')
    throw scimError('invalidValue', 'displayName must be a text that is not empty')
  return value
}

function identifierIn(value: Value): string | null {
  if (isUnassigned(value) || value === '') return null
  if (typeof value !== 'string') throw scimError('invalidValue', 'externalId must be a text')
  return value
}
