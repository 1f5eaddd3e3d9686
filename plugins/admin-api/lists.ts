/** Lists of the interface: some at a time, and where the next ones begin. */
import type { Static, TSchema } from 'typebox'
import type { Bag } from '../../src/protocol/bag.ts'
import { isObject, isStorable, parseJson } from '../../src/protocol/json.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { Page, Place } from '../../src/store/begins-with.ts'
import { memberProblem } from './refusals.ts'

const MOST = 100
const Limit = () =>
  Type.Optional(
    Type.String({
      pattern: '^(?:[1-9][0-9]?|100)$',
      whole: { minimum: 1, maximum: MOST, default: MOST },
      expects: `a whole number from 1 to ${MOST}`,
      description: 'How many there are at most.',
    }),
  )
const After = () =>
  Type.Optional(Type.String({ maxLength: 4096, description: 'Where to go on: `next` of the answer before.' }))

/** The query of a list. */
export const ListQuery = Type.Object({ after: After(), limit: Limit() })
export type ListQuery = Static<typeof ListQuery>
export const SearchQuery = Type.Object({
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'Only those that begin with it, in any case.' }),
  ),
  after: After(),
  limit: Limit(),
})

/** The answer of a list, under the name of what is in it. */
export function listAnswer(name: string, of: TSchema): { status: 200; schema: TSchema } {
  const Next = Type.String({ description: 'For `after`, to go on; absent at the end.' })
  return { status: 200, schema: Type.Object({ [name]: Type.Array(of), next: Type.Optional(Next) }) }
}

export function limitOf({ limit }: Pick<ListQuery, 'limit'>): number {
  return limit === undefined ? MOST : Number(limit)
}

/** Where a list goes on: behind the name, or whatever it was told to go on by. */
export function cursorOf({ after }: Pick<ListQuery, 'after'>): string | undefined {
  return partsOf(after, 1)[0]
}

function placeAfter({ after }: Pick<ListQuery, 'after'>): Place | undefined {
  const [at, id] = partsOf(after, 2)
  return at === undefined || id === undefined ? undefined : { at, id }
}

/** Texts that `next` was made of; none at the beginning. Throws `invalid_request`. */
function partsOf(after: string | undefined, count: number): readonly string[] {
  if (after === undefined) return []
  const parsed = parseJson(Buffer.from(after, 'base64url').toString())
  const parts: unknown = isObject(parsed) ? parsed['after'] : undefined
  if (!isListOfTexts(parts) || parts.length !== count)
    throw memberProblem('after', 'is not the next of an answer to this list')
  return parts
}

function isListOfTexts(parts: unknown): parts is string[] {
  return Array.isArray(parts) && parts.every((part) => typeof part === 'string' && isStorable(part))
}

function nextOf(parts: readonly string[]): string {
  return Buffer.from(JSON.stringify({ after: parts })).toString('base64url')
}

/** The answer of a list: what was found, and the texts by which it goes on; null at the end. */
export function pageOf(name: string, found: readonly unknown[], next: readonly string[] | null): Bag {
  return { [name]: found, ...(next === null ? {} : { next: nextOf(next) }) }
}

/** Of a list that read one more than it may show, where there are more. */
export function listed<Thing>(
  name: string,
  query: ListQuery,
  more: readonly Thing[],
  { nameOf, toWire }: { nameOf(one: Thing): string; toWire(one: Thing): unknown },
): Bag {
  const found = more.slice(0, limitOf(query))
  return pageOf(name, found.map(toWire), more.length > found.length ? [nameOf(found.at(-1)!)] : null)
}

/** All, or those that a search finds. */
export async function listOrSearch<Thing>(
  name: string,
  query: Static<typeof SearchQuery>,
  source: {
    list(after: string, limit: number): Promise<readonly Thing[]>
    search(text: string, options: { after?: Place; limit: number }): Promise<Page<Thing>>
    nameOf(one: Thing): string
    toWire(one: Thing): unknown
  },
): Promise<Bag> {
  const { search: text = '' } = query
  const limit = limitOf(query)
  if (text.trim() === '')
    return listed(name, query, await source.list(cursorOf(query) ?? '', limit + 1), source)
  const after = placeAfter(query)
  const { found, next } = await source.search(text.trim(), {
    limit,
    ...(after === undefined ? {} : { after }),
  })
  return pageOf(name, found.map(source.toWire), next === null ? null : [next.at, next.id])
}
