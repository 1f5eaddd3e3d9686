/**
 * Catalogues that others bring: each text must be one that can be said with the values of the message that it is for. What cannot is found
 * when it is brought, and not on somebody's page.
 */
import { parse, TYPE, type MessageFormatElement } from '@formatjs/icu-messageformat-parser'
import { isObject } from '../../protocol/json.ts'

/** Formats that messages have not: an instant is a value, which says itself. */
const FOREIGN = new Set<TYPE>([TYPE.date, TYPE.time])

/** What of it could not be said, as it follows the name of the catalogue; undefined where all can be. */
export function problemIn(catalogue: unknown): string | undefined {
  if (!isObject(catalogue)) return ' must be an object of texts by their English'
  for (const [english, words] of Object.entries(catalogue)) {
    const problem = problemOf(english, words)
    if (problem !== undefined) return `: ${JSON.stringify(english.slice(0, 80))} ${problem}`
  }
  return undefined
}

function problemOf(english: string, words: unknown): string | undefined {
  if (typeof words !== 'string' || words.trim() === '') return 'must have a text'
  try {
    const given = new Set(parse(english).flatMap(namesOf))
    const odd = parse(words)
      .flatMap(namesOf)
      .find((name) => !given.has(name))
    return odd === undefined ? undefined : `is said without ${odd}`
  } catch (error) {
    if (error instanceof ForeignFormat) return 'has a format that messages have not'
    return `is not in ICU MessageFormat (${(error as Error).message})`
  }
}

class ForeignFormat extends Error {}

/** The names of its values and elements. */
function namesOf(element: MessageFormatElement): string[] {
  if (FOREIGN.has(element.type)) throw new ForeignFormat()
  switch (element.type) {
    case TYPE.argument:
    case TYPE.number:
      return [`{${element.value}}`]
    case TYPE.tag:
      return [`<${element.value}>`, ...element.children.flatMap(namesOf)]
    case TYPE.select:
    case TYPE.plural:
      return [
        `{${element.value}}`,
        ...Object.values(element.options).flatMap(({ value }) => value.flatMap(namesOf)),
      ]
    default:
      return []
  }
}
