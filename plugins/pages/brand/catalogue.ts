/** Words of an operator's: each text must be one that can be said with the values of the message that it is for. */
import { parse, TYPE, type MessageFormatElement } from '@formatjs/icu-messageformat-parser'
import { isObject } from '../../../src/protocol/json.ts'
import type { Catalogue } from '../../../src/services/languages/catalogues.ts'
import { refusal } from './folder.ts'

/** Formats that no message of ours has. */
const FOREIGN = new Set<TYPE>([TYPE.number, TYPE.date, TYPE.time])

/** Throws `ConfigError` for what would fail on a page; `file` is how it is called. */
export function assertCatalogue(file: string, catalogue: unknown): asserts catalogue is Catalogue {
  if (!isObject(catalogue)) throw refusal(`${file} must be an object of texts by their English`)
  for (const [english, words] of Object.entries(catalogue)) {
    const where = `${file}: ${JSON.stringify(english.slice(0, 80))}`
    if (typeof words !== 'string' || words.trim() === '') throw refusal(`${where} must have a text`)
    const has = namesIn(where, words)
    const given = namesIn(where, english)
    const odd = [...has].find((name) => !given.has(name))
    if (odd !== undefined) throw refusal(`${where} is said without ${odd}`)
  }
}

function namesIn(where: string, text: string): ReadonlySet<string> {
  let elements: MessageFormatElement[]
  try {
    elements = parse(text)
  } catch (cause) {
    throw refusal(`${where} is not in ICU MessageFormat (${(cause as Error).message})`, { cause })
  }
  return new Set(elements.flatMap((element) => namesOf(where, element)))
}

/** The names of its values and elements. */
function namesOf(where: string, element: MessageFormatElement): string[] {
  const within = (elements: readonly MessageFormatElement[]) => elements.flatMap((one) => namesOf(where, one))
  if (FOREIGN.has(element.type)) throw refusal(`${where} has a format that messages have not`)
  switch (element.type) {
    case TYPE.argument:
      return [`{${element.value}}`]
    case TYPE.tag:
      return [`<${element.value}>`, ...within(element.children)]
    case TYPE.select:
    case TYPE.plural:
      return [`{${element.value}}`, ...Object.values(element.options).flatMap(({ value }) => within(value))]
    default:
      return []
  }
}
