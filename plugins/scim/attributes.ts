/**
 * What a SCIM resource is made of (RFC 7643 §2, §7), as data: `/Schemas` shows it, filters and patches find their way by it, and what is sent
 * is judged by it.
 */
import { isObject } from '../../src/protocol/json.ts'

export interface Attribute {
  readonly name: string
  /** `complex` where it has `subAttributes`. */
  readonly type: 'string' | 'boolean' | 'dateTime' | 'reference' | 'complex'
  readonly description: string
  readonly multiValued?: boolean
  readonly required?: boolean
  /** Whether upper and lower case differ; default false. */
  readonly caseExact?: boolean
  /** Default `readWrite`. */
  readonly mutability?: 'readOnly' | 'readWrite' | 'immutable' | 'writeOnly'
  /** Default `default`. */
  readonly returned?: 'always' | 'never' | 'default'
  /** Default `none`. */
  readonly uniqueness?: 'none' | 'server'
  readonly canonicalValues?: readonly string[]
  /** Of a reference: names of resources, `external` or `uri`. */
  readonly referenceTypes?: readonly string[]
  readonly subAttributes?: readonly Attribute[]
}

export interface Schema {
  /** Its URN. */
  readonly id: string
  readonly name: string
  readonly description: string
  readonly attributes: readonly Attribute[]
}

/** Those of every resource (RFC 7643 §3.1), which no schema shows. */
export const COMMON: readonly Attribute[] = [
  { name: 'schemas', type: 'reference', description: 'The schemas of it.', multiValued: true, caseExact: true, mutability: 'readOnly', returned: 'always' },
  { name: 'id', type: 'string', description: 'Its identifier here.', caseExact: true, mutability: 'readOnly', returned: 'always' },
  { name: 'externalId', type: 'string', description: 'Its identifier where it comes from.', caseExact: true },
  {
    name: 'meta', type: 'complex', description: 'What is known of the resource itself.', mutability: 'readOnly',
    subAttributes: [
      { name: 'resourceType', type: 'string', description: 'What it is.', caseExact: true, mutability: 'readOnly' },
      { name: 'created', type: 'dateTime', description: 'Since when it is here.', mutability: 'readOnly' },
      { name: 'lastModified', type: 'dateTime', description: 'When it was changed last.', mutability: 'readOnly' },
      { name: 'location', type: 'reference', description: 'Its address.', caseExact: true, mutability: 'readOnly' },
      { name: 'version', type: 'string', description: 'Another one after each change.', caseExact: true, mutability: 'readOnly' },
    ],
  },
] // prettier-ignore

/** What may be said of each of several values (RFC 7643 §2.4), also where nothing of it is kept. */
export const PRIMARY = {
  name: 'primary', type: 'boolean', description: 'Whether it is the one that is used.',
} as const satisfies Attribute // prettier-ignore

/** The attribute of this name, in any case (RFC 7643 §2.1). */
export function attributeOf(attributes: readonly Attribute[], name: string): Attribute | undefined {
  const wanted = name.toLowerCase()
  return attributes.find((one) => one.name.toLowerCase() === wanted)
}

/** The same of one of several values, in the brackets after their attribute. */
export function attributeWithin({ subAttributes = [] }: Attribute, name: string): Attribute | undefined {
  return attributeOf([...subAttributes, PRIMARY], name)
}

/** An attribute, or one within it, as filters, patches and `attributes` name it. */
export interface Place {
  readonly attribute: Attribute
  readonly sub?: Attribute
}

/** The one that a path such as `name.familyName` names, with or without the URN of the schema before it; undefined for none of these. */
export function placeOf({ id, attributes }: Schema, path: string): Place | undefined {
  const urn = `${id.toLowerCase()}:`
  const bare = path.toLowerCase().startsWith(urn) ? path.slice(urn.length) : path
  const [name = '', subName, ...more] = bare.split('.')
  const attribute = attributeOf([...COMMON, ...attributes], name)
  if (attribute === undefined || more.length > 0) return undefined
  if (subName === undefined) return { attribute }
  const sub = attributeOf(attribute.subAttributes ?? [], subName)
  return sub === undefined ? undefined : { attribute, sub }
}

/** As a filter and a patch write it. */
export function nameOfPlace({ attribute, sub }: Place): string {
  return sub === undefined ? attribute.name : `${attribute.name}.${sub.name}`
}

/** A value, as JSON has it. */
export type Value = unknown
/** A resource, or a complex value, by the names of the schema. */
export type Members = Readonly<Record<string, Value>>

export function isMembers(value: Value): value is Members {
  return isObject(value)
}

/** What is there under this name, in any case; the last of several. */
export function memberOf(members: Members, name: string): Value {
  const wanted = name.toLowerCase()
  const found = Object.keys(members).findLast((one) => one.toLowerCase() === wanted)
  return found === undefined ? undefined : members[found]
}

/** RFC 7643 §2.5: null and an empty list are as good as nothing. */
export function isUnassigned(value: Value): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

/** The values of an attribute: each of several, the only one, or none. */
export function valuesOf(value: Value): readonly Value[] {
  if (isUnassigned(value)) return []
  return Array.isArray(value) ? (value as readonly Value[]) : [value]
}
