/** What lists have in common (RFC 7644 §3.4.2): what they are asked for, and what is looked up for a filter before anything is looked through. */
import { memberOf, nameOfPlace, valuesOf, type Members } from './attributes.ts'
import { scimError } from './errors.ts'
import type { Filter } from './filter.ts'
import { LIST_RESPONSE } from './messages.ts'
import type { Asked } from './projection.ts'
import type { Order } from './sorting.ts'

/** A `ListResponse`. Throws `invalidFilter`, `invalidValue`, `invalidCursor` and `tooMany`. */
export type List = (query: ListQuery, clientId: string) => Promise<Members>

/** What a list is asked for, as it stands in a query. */
export interface ListQuery extends Asked, Order {
  readonly filter?: string | undefined
  readonly startIndex?: string | undefined
  readonly count?: string | undefined
  readonly cursor?: string | undefined
}

export const DEFAULT_COUNT = 100
export const MOST_COUNT = 200
const LIST = [
  'filter',
  'startIndex',
  'count',
  'cursor',
  'attributes',
  'excludedAttributes',
  'sortBy',
  'sortOrder',
] as const

/** What a search has in its body, as if it stood in a query. */
export function listQueryIn(body: Members): ListQuery {
  return Object.fromEntries(
    LIST.flatMap((name) => {
      const value = memberOf(body, name)
      if (value === undefined || value === null) return []
      const all = valuesOf(value)
      if (!all.every((one) => typeof one === 'string' || typeof one === 'number'))
        throw scimError('invalidValue', `${name} must be a text`)
      return [[name, all.join(',')]]
    }),
  )
}

export function countOf({ count }: ListQuery): number {
  return Math.min(MOST_COUNT, Math.max(0, wholeOf(count, 'count') ?? DEFAULT_COUNT))
}

export function startIndexOf({ startIndex }: ListQuery): number {
  return Math.max(1, wholeOf(startIndex, 'startIndex') ?? 1)
}

function wholeOf(value: string | undefined, name: string): number | undefined {
  if (value === undefined) return undefined
  if (!/^-?\d{1,9}$/.test(value)) throw scimError('invalidValue', `${name} must be a whole number`)
  return Number(value)
}

export function listResponse(members: Members, resources: readonly Members[]): Members {
  return { schemas: [LIST_RESPONSE], ...members, itemsPerPage: resources.length, Resources: resources }
}

export interface LookedUp {
  readonly name: string
  readonly is: 'eq' | 'sw'
  readonly value: string
}

/** What everything that fits is found by: one of these that it equals, before one of those that it begins with. */
export function lookedUp(
  filter: Filter,
  identifiers: readonly string[],
  beginnings: readonly string[] = [],
): LookedUp | undefined {
  const all = conditionsOf(filter)
  return (
    all.find(({ name, is }) => is === 'eq' && identifiers.includes(name)) ??
    all.find(({ name }) => beginnings.includes(name))
  )
}

/** Of what must all be so, the comparisons with a text that may be looked up. */
function conditionsOf(filter: Filter): readonly LookedUp[] {
  if ('all' in filter) return filter.all.flatMap(conditionsOf)
  if ('within' in filter) return conditionsOf(filter.one)
  if (!('place' in filter) || typeof filter.value !== 'string' || filter.value === '') return []
  const { place, is, value } = filter
  return is === 'eq' || is === 'sw' ? [{ name: nameOfPlace(place), is, value }] : []
}
