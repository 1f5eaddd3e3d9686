/** Whether a resource fits a filter (RFC 7644 §3.4.2.2), which of many do, and which of several values. */
import { setImmediate } from 'node:timers/promises'
import {
  isMembers,
  isUnassigned,
  memberOf,
  PRIMARY,
  valuesOf,
  type Attribute,
  type Members,
  type Place,
  type Value,
} from './attributes.ts'
import { comparedAttribute, type Compared, type Comparison, type Filter } from './filter.ts'

export function fits(filter: Filter, resource: Members): boolean {
  if ('all' in filter) return filter.all.every((one) => fits(one, resource))
  if ('any' in filter) return filter.any.some((one) => fits(one, resource))
  if ('not' in filter) return !fits(filter.not, resource)
  if ('present' in filter) return valuesAt(resource, filter.present).some((value) => !isEmpty(value))
  if ('within' in filter) return whichFit(filter.one, filter.within, resource).length > 0
  const { place, is, value } = filter
  const values = valuesAt(resource, place)
  if (is === 'ne') return !values.some((one) => compares(comparedAttribute(place), one, 'eq', value))
  if (is === 'eq' && value === null) return values.length === 0
  return values.some((one) => compares(comparedAttribute(place), one, is, value))
}

/** Milliseconds in which nobody else is served. */
const BREATH = 10

/** Those of very many whose resources fit. Whoever waits meanwhile is served in between. */
export async function fitting<T>(
  filter: Filter,
  all: readonly T[],
  resourceOf: (one: T, at: number) => Members,
): Promise<readonly T[]> {
  const found: T[] = []
  let since = performance.now()
  for (const [at, one] of all.entries()) {
    if (fits(filter, resourceOf(one, at))) found.push(one)
    if (performance.now() - since < BREATH) continue
    await setImmediate()
    since = performance.now()
  }
  return found
}

/** Those of the values of an attribute that fit each by itself. The only one is the primary one, where it does not say. */
export function whichFit(filter: Filter, { attribute }: Place, resource: Members): readonly Value[] {
  const values = valuesOf(memberOf(resource, attribute.name))
  const told = (one: Value): Value =>
    values.length === 1 && isMembers(one) ? { [PRIMARY.name]: true, ...one } : one
  return values.filter((one) => fits(filter, { [attribute.name]: [told(one)] }))
}

/** What is compared: of complex values, what stands in them. */
function valuesAt(resource: Members, place: Place): readonly Value[] {
  const values = valuesOf(memberOf(resource, place.attribute.name))
  const { name } = comparedAttribute(place)
  if (place.sub === undefined && name === place.attribute.name) return values
  return values.flatMap((one) => (isMembers(one) ? valuesOf(memberOf(one, name)) : []))
}

/** RFC 7644 §3.4.2.2, `pr`: a complex value is there where something stands in it. */
function isEmpty(value: Value): boolean {
  if (isMembers(value)) return Object.values(value).every((one) => isEmpty(one))
  return isUnassigned(value) || value === ''
}

const TEXTS: { readonly [Is in Comparison]?: (had: string, given: string) => boolean } = {
  eq: (had, given) => had === given,
  co: (had, given) => had.includes(given),
  sw: (had, given) => had.startsWith(given),
  ew: (had, given) => had.endsWith(given),
  gt: (had, given) => had > given,
  ge: (had, given) => had >= given,
  lt: (had, given) => had < given,
  le: (had, given) => had <= given,
}

function compares(attribute: Attribute, had: Value, is: Comparison, given: Compared): boolean {
  if (attribute.type === 'boolean') return is === 'eq' && had === truthOf(given)
  if (typeof had !== 'string' || typeof given !== 'string') return is === 'eq' && had === given
  if (attribute.type === 'dateTime') return compareTimes(Date.parse(had), is, Date.parse(given))
  const told = (text: string): string =>
    attribute.caseExact === true ? text : text.normalize('NFC').toLowerCase()
  return TEXTS[is]?.(told(had), told(given)) ?? false
}

/** Some write `"True"`, as Microsoft Entra ID does. */
export function truthOf<T>(given: T): T | boolean {
  const told = typeof given === 'string' ? given.toLowerCase() : given
  return told === 'true' ? true : told === 'false' ? false : given
}

function compareTimes(had: number, is: Comparison, given: number): boolean {
  const difference = had - given
  if (is === 'eq') return difference === 0
  if (is === 'gt' || is === 'ge') return difference > 0 || (is === 'ge' && difference === 0)
  return (is === 'lt' || is === 'le') && (difference < 0 || (is === 'le' && difference === 0))
}
