/** Which attributes of a resource are answered (RFC 7644 §3.9, RFC 7643 §7). */
import {
  attributeOf,
  COMMON,
  isMembers,
  placeOf,
  type Attribute,
  type Members,
  type Schema,
  type Value,
} from './attributes.ts'
import { scimError } from './errors.ts'

/** What a request asks for, as texts with commas between names. */
export interface Asked {
  readonly attributes?: string | undefined
  readonly excludedAttributes?: string | undefined
}

export type Project = (resource: Members) => Members

/** Names that nobody knows ask for nothing. Throws `invalidSyntax` where both are given. */
export function projectionOf(schema: Schema, { attributes, excludedAttributes }: Asked): Project {
  if (attributes !== undefined && excludedAttributes !== undefined)
    throw scimError('invalidSyntax', 'attributes and excludedAttributes do not go together')
  if (attributes !== undefined) return onlyThese(schema, attributes)
  return excludedAttributes === undefined ? (resource) => resource : withoutThese(schema, excludedAttributes)
}

function onlyThese(schema: Schema, asked: string): Project {
  const places = placesIn(schema, asked)
  return (resource) => {
    const kept = Object.entries(resource).flatMap(([name, value]): (readonly [string, Value])[] => {
      if (isAlways(schema, name)) return [[name, value]]
      const named = places.filter(({ attribute }) => attribute.name === name)
      if (named.length === 0) return []
      const subs = named.flatMap(({ sub }) => (sub === undefined ? [] : [sub.name]))
      return [[name, subs.length < named.length ? value : within(value, (sub) => subs.includes(sub))]]
    })
    return Object.fromEntries(kept)
  }
}

function withoutThese(schema: Schema, asked: string): Project {
  const places = placesIn(schema, asked)
  return (resource) => {
    const kept = Object.entries(resource).flatMap(([name, value]): (readonly [string, Value])[] => {
      const named = places.filter(({ attribute }) => attribute.name === name)
      if (named.length === 0 || isAlways(schema, name)) return [[name, value]]
      const subs = named.flatMap(({ sub }) => (sub === undefined ? [] : [sub.name]))
      return subs.length < named.length ? [] : [[name, within(value, (sub) => !subs.includes(sub))]]
    })
    return Object.fromEntries(kept)
  }
}

function placesIn(schema: Schema, asked: string) {
  const names = asked.split(',').map((name) => name.trim().toLowerCase())
  return [...new Set(names)].flatMap((name) => placeOf(schema, name) ?? [])
}

function isAlways({ attributes }: Schema, name: string): boolean {
  const attribute: Attribute | undefined = attributeOf([...COMMON, ...attributes], name)
  return attribute?.returned === 'always'
}

function within(value: Value, isKept: (sub: string) => boolean): Value {
  if (Array.isArray(value)) return value.map((one: Value) => within(one, isKept))
  if (!isMembers(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => isKept(name)))
}
