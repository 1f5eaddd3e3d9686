/** The order of a list (RFC 7644 §3.4.2.3): by one value of each resource; those without one come last, or first where it is descending. */
import {
  isMembers,
  memberOf,
  nameOfPlace,
  placeOf,
  valuesOf,
  type Members,
  type Place,
  type Schema,
  type Value,
} from './attributes.ts'
import { scimError } from './errors.ts'
import { comparedAttribute } from './filter.ts'

/** What a list is asked for. */
export interface Order {
  readonly sortBy?: string | undefined
  readonly sortOrder?: string | undefined
}

export type Sort = (resources: readonly Members[]) => readonly Members[]

/**
 * Undefined where nothing else is asked for than the order of `names`, the attribute that lists are by. Throws `invalidValue` for what is no attribute of
 * one value, and for another order than `ascending` and `descending`.
 */
export function sortOf(
  schema: Schema,
  { sortBy, sortOrder = 'ascending' }: Order,
  names: string,
): Sort | undefined {
  const order = sortOrder.toLowerCase()
  if (order !== 'ascending' && order !== 'descending')
    throw scimError('invalidValue', 'sortOrder must be ascending or descending')
  // Without sortBy there is nothing to order.
  if (sortBy === undefined) return undefined
  const place = placeOf(schema, sortBy.trim())
  if (place === undefined || !isComparable(place))
    throw scimError('invalidValue', 'sortBy must name an attribute that is kept, and is no list of its own')
  if (nameOfPlace(place) === names && order === 'ascending') return undefined
  const direction = order === 'ascending' ? 1 : -1
  return (resources) =>
    resources
      .map((resource) => ({ resource, key: keyOf(resource, place) }))
      .toSorted((one, other) => direction * compared(one.key, other.key))
      .map(({ resource }) => resource)
}

function isComparable(place: Place): boolean {
  return comparedAttribute(place).type !== 'complex' && place.attribute.name !== 'members'
}

/** Of several values the primary one, or else the first. */
function keyOf(resource: Members, place: Place): string | number | undefined {
  const attribute = comparedAttribute(place)
  const values = valuesOf(memberOf(resource, place.attribute.name))
  const chosen = values.find((one) => isMembers(one) && memberOf(one, 'primary') === true) ?? values[0]
  const value: Value = isMembers(chosen) ? memberOf(chosen, attribute.name) : chosen
  if (typeof value === 'boolean') return Number(value)
  if (typeof value !== 'string') return undefined
  if (attribute.type === 'dateTime') return Date.parse(value)
  return attribute.caseExact === true ? value : value.normalize('NFC').toLowerCase()
}

function compared(one: string | number | undefined, other: string | number | undefined): number {
  if (one === other) return 0
  if (one === undefined || other === undefined) return one === undefined ? 1 : -1
  return one < other ? -1 : 1
}
