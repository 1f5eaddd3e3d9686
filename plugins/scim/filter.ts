/** Filters (RFC 7644 §3.4.2.2), read into what they say. Whether a resource fits is for `matching.ts`. */
import type { OAuthError } from '../../src/protocol/errors.ts'
import {
  attributeOf,
  attributeWithin,
  placeOf,
  type Attribute,
  type Place,
  type Schema,
} from './attributes.ts'
import { scimError } from './errors.ts'

const COMPARISONS = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const
export type Comparison = (typeof COMPARISONS)[number]
export type Compared = string | number | boolean | null

export type Filter =
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
  | { readonly present: Place }
  | { readonly place: Place; readonly is: Comparison; readonly value: Compared }
  /** One value of several that fits all by itself. */
  | { readonly within: Place; readonly one: Filter }

/** What a patch names: an attribute or one within it, and which of several values. */
export interface Path extends Place {
  readonly which?: Filter
}

/** Characters, filters within filters, and comparisons: each is asked of each of very many values. */
const LONGEST = 4096
const DEEPEST = 16
const MOST_COMPARISONS = 100
const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([()[\]])|([^\s()[\]"]+))/y
const ORDERED: ReadonlySet<Comparison> = new Set(['gt', 'ge', 'lt', 'le'])
const OF_TEXTS: ReadonlySet<Comparison> = new Set(['co', 'sw', 'ew'])

type Problem = 'invalidFilter' | 'invalidPath'

/** `why` goes on after “the filter”. */
function refusal(problem: Problem, why: string): OAuthError {
  return scimError(problem, `the ${problem === 'invalidPath' ? 'path' : 'filter'} ${why}`)
}

/** Throws `invalidFilter`. */
export function parseFilter(schema: Schema, text: string): Filter {
  const reader = createReader(schema, text, 'invalidFilter')
  const filter = reader.filter()
  reader.end()
  return filter
}

/** Throws `invalidPath`, and `invalidFilter` for what stands in its brackets. */
export function parsePath(schema: Schema, text: string): Path {
  const reader = createReader(schema, text, 'invalidPath')
  const path = reader.path()
  reader.end()
  return path
}

function createReader(schema: Schema, text: string, problem: Problem) {
  const tokens = tokensOf(text, problem)
  let at = 0
  let depth = 0
  let comparisons = 0

  const fail = (why: string) => refusal(problem, why)
  const peek = (): string | undefined => tokens[at]
  const word = (): string => peek()?.toLowerCase() ?? ''

  function take(expected?: string): string {
    const token = tokens[at]
    if (token === undefined || (expected !== undefined && token !== expected))
      throw fail(expected === undefined ? 'ends too early' : `lacks a ${expected}`)
    at++
    return token
  }

  function nested<T>(read: () => T): T {
    if (++depth > DEEPEST) throw fail('is nested too deeply')
    const result = read()
    depth--
    return result
  }

  /** One or several, with this word between them. */
  function joined(between: 'and' | 'or', read: () => Filter): readonly Filter[] {
    const found = [read()]
    while (word() === between) {
      at++
      found.push(read())
    }
    return found
  }

  /** What an operator says of values that it fits; `within` is the attribute whose brackets it stands in. */
  function anyOf(within?: Place): Filter {
    const found = joined('or', () => allOf(within))
    return found.length === 1 ? found[0]! : { any: found }
  }

  function allOf(within?: Place): Filter {
    const found = joined('and', () => one(within))
    return found.length === 1 ? found[0]! : { all: found }
  }

  function one(within?: Place): Filter {
    if (word() === 'not' && tokens[at + 1] === '(') {
      at++
      return { not: inBrackets('(', ')', within) }
    }
    if (peek() === '(') return inBrackets('(', ')', within)
    const place = placeAt(within)
    return peek() === '[' && within === undefined ? valueFilter(place) : comparison(place)
  }

  function inBrackets(open: string, close: string, within?: Place): Filter {
    take(open)
    const filter = nested(() => anyOf(within))
    take(close)
    return filter
  }

  function valueFilter(place: Place): Filter {
    if (place.sub !== undefined || place.attribute.multiValued !== true)
      throw fail(`has brackets after ${place.attribute.name}, which has one value`)
    const which = inBrackets('[', ']', place)
    if (peek()?.startsWith('.') !== true) return { within: place, one: which }
    return { within: place, one: { all: [which, comparison(subAt(place))] } }
  }

  /** Behind brackets, as Microsoft Entra ID writes it too: `emails[type eq "work"].value eq …`. */
  function subAt({ attribute }: Place): Place {
    const name = take().slice(1)
    const sub = attributeOf(attribute.subAttributes ?? [], name)
    if (sub === undefined) throw fail(`names an attribute that ${attribute.name} has not`)
    return { attribute, sub }
  }

  function placeAt(within?: Place): Place {
    const name = take()
    if (within !== undefined) {
      const sub = attributeWithin(within.attribute, name)
      if (sub === undefined) throw fail(`names an attribute that ${within.attribute.name} has not`)
      return { attribute: within.attribute, sub }
    }
    const place = placeOf(schema, name)
    if (place === undefined) throw fail('names an attribute that is not known here')
    return place
  }

  function comparison(place: Place): Filter {
    if (++comparisons > MOST_COMPARISONS) throw fail(`has more than ${MOST_COMPARISONS} comparisons`)
    const operator = take().toLowerCase()
    if (operator === 'pr') return { present: place }
    const is = COMPARISONS.find((known) => known === operator)
    if (is === undefined) throw fail('has an operator that is not known')
    const value = valueIn(take())
    assertComparable(place, is, value)
    return { place, is, value }
  }

  function valueIn(token: string): Compared {
    if (!/^(?:"|-?\d|true$|false$|null$)/.test(token))
      throw fail('compares with what is no text, number, true, false or null')
    try {
      return JSON.parse(token) as Compared
    } catch {
      throw fail('compares with what is no text, number, true, false or null')
    }
  }

  function assertComparable(place: Place, is: Comparison, value: Compared): void {
    const { type } = comparedAttribute(place)
    const isText = type === 'string' || type === 'reference'
    if (OF_TEXTS.has(is) && (!isText || typeof value !== 'string'))
      throw fail(`has ${is}, which compares texts alone`)
    if (!ORDERED.has(is)) return
    if (type === 'boolean' || type === 'complex' || typeof value !== 'string')
      throw fail(`has ${is}, which compares texts and times alone`)
    if (type === 'dateTime' && Number.isNaN(Date.parse(value)))
      throw fail('compares a time with what is none')
  }

  return {
    filter: (): Filter => anyOf(),
    path(): Path {
      const place = placeAt()
      if (peek() !== '[') return place
      if (place.sub !== undefined || place.attribute.multiValued !== true)
        throw fail(`has brackets after ${place.attribute.name}, which has one value`)
      const which = inBrackets('[', ']', place)
      return { ...(peek()?.startsWith('.') === true ? subAt(place) : place), which }
    },
    end(): void {
      if (at < tokens.length) throw fail('goes on after its end')
    },
  }
}

/** The attribute whose values are compared: of a complex one, its `value` (RFC 7643 §2.4). */
export function comparedAttribute({ attribute, sub }: Place): Attribute {
  if (sub !== undefined) return sub
  return attribute.subAttributes?.find(({ name }) => name === 'value') ?? attribute
}

function tokensOf(text: string, problem: Problem): readonly string[] {
  if (text.length > LONGEST) throw refusal(problem, `has more than ${LONGEST} characters`)
  const tokens: string[] = []
  const end = text.trimEnd().length
  for (let at = 0; at < end;) {
    TOKEN.lastIndex = at
    const found = TOKEN.exec(text)
    if (found === null) throw refusal(problem, 'cannot be read')
    tokens.push(found[1] ?? found[2] ?? found[3] ?? '')
    at = TOKEN.lastIndex
  }
  return tokens
}
