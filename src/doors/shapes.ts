/**
 * What is registered at a door, member by member, for plugins that no compiler reads: what a door would miss, or never ask, when
 * somebody comes, is said at the start. `known-doors.ts` has the shape of each.
 */
import { ConfigError } from '../config.ts'
import { isObject } from '../protocol/json.ts'
import { closeTo, findNearest } from '../protocol/nearest.ts'

export interface Member {
  is(value: unknown): boolean
  /** What it must be, behind "must be". */
  readonly words: string
}
export interface OptionalMember extends Member {
  readonly optional: true
}

/** Of each member of `T`; which of them may be left out is what the type says. */
export type Shape<T> = {
  readonly [Name in keyof T]-?: T extends { readonly [Needed in Name]: unknown }
    ? Member & { readonly optional?: never }
    : OptionalMember
}

export const FUNCTION = { is: (value: unknown) => typeof value === 'function', words: 'a function' }
export const TEXT = { is: (value: unknown) => typeof value === 'string' && value !== '', words: 'a text' }
export const BOOLEAN = { is: (value: unknown) => typeof value === 'boolean', words: 'true or false' }
export const OBJECT = { is: isObject, words: 'an object' }
export const TEXTS = {
  is: (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
  words: 'a list of texts',
}
/** Of one value. */
export const SCHEMA = { is: isObject, words: 'a schema, such as Type.String()' }
/** Of named ones. */
export const PARAMETERS = {
  is: (value: unknown) => isObject(value) && isObject(value['properties']),
  words: 'a schema, such as Type.Object({ name: Type.String() })',
}

/** RFC 9110 §8.3.1. */
export const MEDIA_TYPE = {
  is: (value: unknown) =>
    typeof value === 'string' && /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:;[\x20-\x7e]*)?$/.test(value),
  words: "a media type, such as 'application/problem+json'",
}

export function oneOf(...words: readonly string[]): Member {
  return {
    is: (value) => words.some((word) => word === value),
    words: `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`,
  }
}

export function upTo(most: number): Member {
  return {
    is: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most,
    words: `a whole number from 1 to ${most}`,
  }
}

export function either(one: Member, other: Member): Member {
  return { is: (value) => one.is(value) || other.is(value), words: `${one.words} or ${other.words}` }
}

export function maybe({ is, words }: Member): OptionalMember {
  return { is: (value) => value === undefined || is(value), words, optional: true }
}

/**
 * Throws `ConfigError` in one sentence that names `what` (a door, and what it is called) and the member: one that is missing or
 * something else, and one that looks like a misspelt one. Others may be there, for the plugin itself.
 */
export function assertShape(what: string, shape: Readonly<Record<string, Member>>, value: unknown): void {
  if (!isObject(value)) throw new ConfigError(`The ${what} must be an object.`)
  const names = Object.keys(shape)
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(shape, name)) continue
    const { nearest, distance } = findNearest(name, names)
    if (distance <= closeTo(nearest) && value[nearest] === undefined)
      throw new ConfigError(`The ${what} has ${name}, which is never asked for: the nearest is ${nearest}.`)
  }
  for (const [name, { is, words }] of Object.entries(shape)) {
    const given = value[name]
    if (is(given)) continue
    if (given === undefined) throw new ConfigError(`The ${what} has no ${name}, which must be ${words}.`)
    const got = typeof given === 'string' ? `; it is ${JSON.stringify(given.slice(0, 80))}` : ''
    throw new ConfigError(`The ${name} of the ${what} must be ${words}${got}.`)
  }
}

/** The same of a schema alone: `what` has members. */
export function assertSchema(what: string, schema: unknown): void {
  if (!PARAMETERS.is(schema)) throw new ConfigError(`${what} must be ${PARAMETERS.words}.`)
}

/** How a sentence names an item: its kind, and what it says that it is called, if anything. */
export function whatOf(kind: string, item: unknown): string {
  const { name, confirmation, type, path } = (item ?? {}) as Readonly<Record<string, unknown>>
  const own = [name, confirmation, type, path].find((one) => typeof one === 'string')
  return own === undefined ? kind : `${kind} ${own}`
}
