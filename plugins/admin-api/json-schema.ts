/** Schemas of ours as JSON Schema, for others to read: those that have a title stand in one place, by that name. */
import type { TSchema } from 'typebox'
import type { Bag } from '../../src/protocol/bag.ts'
import { isObject } from '../../src/protocol/json.ts'

/** A schema, or what makes it when all plugins have said what they add. */
export type LateSchema = TSchema | (() => TSchema)

export interface JsonSchemas {
  /** As it stands where it is used: a reference to one that has a title. */
  of(schema: LateSchema): Bag
  /** The same of changes (RFC 7396): each member may be null, which takes it away. */
  ofChanges(schema: LateSchema): Bag
  /** Those that have a title, so far. */
  readonly named: Readonly<Record<string, Bag>>
}

/** Keywords of JSON Schema that ours have; what else stands in them is for our own pages. */
const KEYWORDS = new Set([
  'type', 'enum', 'items', 'properties', 'required', 'description', 'default', 'format', 'pattern', 'minimum', 'maximum', 'minLength',
  'maxLength', 'minItems', 'maxItems', 'readOnly', 'writeOnly',
]) // prettier-ignore
const FORMATS = new Set(['date-time'])

export function createJsonSchemas(): JsonSchemas {
  const named: Record<string, Bag> = {}

  function name(schema: object, spelled: () => Bag): Bag {
    const { title } = schema as { readonly title?: string }
    if (title === undefined) return spelled()
    named[title] ??= spelled()
    return { $ref: `#/components/schemas/${title}` }
  }

  const spell = (schema: object): Bag => name(schema, () => plain(schema, spell))

  return {
    named,
    of: (schema) => spell(resolved(schema)),
    ofChanges(late) {
      const schema = resolved(late)
      return name(schema, () => {
        const { properties, ...rest } = plain(schema, spell)
        return { ...rest, properties: mapped(properties as object, orNull) }
      })
    },
  }
}

function resolved(schema: LateSchema): TSchema {
  return typeof schema === 'function' ? schema() : schema
}

/** `inner` spells what is in it. */
function plain(schema: object, inner: (schema: object) => Bag): Bag {
  const { whole, ...all } = schema as Readonly<Record<string, unknown>>
  // In a query it is a text.
  if (isObject(whole)) return { type: 'integer', description: all['description'], ...whole }
  // What is described by nothing may have anything.
  if (isObject(all['properties']) && Object.keys(all['properties']).length === 0)
    return { type: 'object', description: all['description'], additionalProperties: true }
  const kept = Object.entries(all).filter(
    ([keyword, value]) => KEYWORDS.has(keyword) && (keyword !== 'format' || FORMATS.has(String(value))),
  )
  return Object.fromEntries(
    kept.map(([keyword, value]) => {
      if (keyword === 'items') return [keyword, inner(value as object)]
      return [keyword, keyword === 'properties' ? mapped(value as object, inner) : value]
    }),
  )
}

function orNull(schema: Bag): Bag {
  const { type, enum: values } = schema
  if (Array.isArray(values)) return { ...schema, enum: [...(values as unknown[]), null] }
  return typeof type === 'string'
    ? { ...schema, type: [type, 'null'] }
    : { oneOf: [schema, { type: 'null' }] }
}

function mapped(properties: object, how: (schema: Bag) => Bag): Bag {
  return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, how(one as Bag)]))
}
