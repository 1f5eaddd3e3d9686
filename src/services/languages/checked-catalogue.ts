/** Catalogues that plugins bring: what of one could not be said is refused at the start, and not on somebody's page. */
import { parse, TYPE, type MessageFormatElement } from '@formatjs/icu-messageformat-parser'
import { ConfigError } from '../../config.ts'
import { isTag } from '../../protocol/language-tags.ts'

/** Throws `ConfigError` for what is no language, or no catalogue. */
export function assertCatalogue(tag: unknown, messages: unknown): void {
  if (typeof tag !== 'string' || !isTag(tag))
    throw new ConfigError(`${shown(tag)} is no language tag, such as fr or pt-BR.`)
  if (typeof messages !== 'object' || messages === null || Array.isArray(messages))
    throw new ConfigError(`The catalogue of ${tag} must be an object: English to ${tag}.`)
  for (const [english, words] of Object.entries(messages)) {
    const refused = (why: string) => new ConfigError(`The catalogue of ${tag} has ${shown(english)}, ${why}.`)
    if (typeof words !== 'string') throw refused('whose words are no text')
    const has = namesOf(english)
    if (has === undefined) throw refused('which is no ICU MessageFormat')
    const uses = namesOf(words)
    if (uses === undefined) throw refused('whose words are no ICU MessageFormat')
    const [stray] = [...uses].filter((name) => !has.has(name))
    if (stray !== undefined) throw refused(`whose words have ${stray}, which its English has not`)
  }
}

/** Its values and elements; undefined for what is no message, or has a format that messages have not. */
function namesOf(text: string): ReadonlySet<string> | undefined {
  const names = new Set<string>()
  const read = (elements: readonly MessageFormatElement[]): boolean =>
    elements.every((element) => {
      switch (element.type) {
        case TYPE.literal:
        case TYPE.pound:
          return true
        case TYPE.argument:
          names.add(`{${element.value}}`)
          return true
        case TYPE.tag:
          names.add(`<${element.value}>`)
          return read(element.children)
        case TYPE.select:
        case TYPE.plural:
          names.add(`{${element.value}}`)
          return Object.values(element.options).every(({ value }) => read(value))
        default:
          return false
      }
    })
  try {
    return read(parse(text)) ? names : undefined
  } catch {
    return undefined
  }
}

function shown(value: unknown): string {
  return JSON.stringify(String(value).slice(0, 80))
}
