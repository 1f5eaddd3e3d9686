/** How a member with an RFC's name is written on the command line, and what the text of an option means. */
import { ConfigError } from '../config.ts'
import { parseTypedJson } from '../protocol/typed-pairs.ts'

/** What is typed for a JSON type, where it is a word. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['boolean', 'true or false'],
  ['integer', 'a whole number'],
  ['number', 'a number'],
])

/** `redirect_uris` → `--redirect-uris`. */
export function optionName(member: string): string {
  return `--${member.replaceAll('_', '-')}`
}

/** The name under which commander has what was given: `--redirect-uris` is `redirectUris`. */
export function optionKey(member: string): string {
  return member.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** The member's value, of the JSON type that its schema has. Throws `ConfigError` for malformed JSON. */
export function memberValue(
  member: string,
  schema: { type?: string; items?: { type?: string } },
  values: readonly string[],
): unknown {
  // Response types are the names that hold spaces themselves.
  if (schema.type === 'array' && schema.items?.type !== 'object')
    return values
      .flatMap((one) => (member === 'response_types' ? [one] : one.split(/\s+/)))
      .filter((one) => one !== '')
  const text = values.join(' ')
  if (schema.type === 'string' || schema.type === undefined) return text
  return parseJson(optionName(member), text, WORDS.get(schema.type))
}

/** Throws `ConfigError` for what is no JSON, or has a member twice, of which one would be forgotten. */
export function parseJson(option: string, text: string, what = 'JSON'): unknown {
  const { typed, twice } = parseTypedJson(text)
  if (typed === undefined) throw new ConfigError(`${option} must be ${what}.`)
  if (twice !== undefined)
    throw new ConfigError(`${option} has ${twice} twice in one object: leave one of them.`)
  return typed
}

export function wholeNumber(option: string, text: string | undefined): number {
  if (text === undefined || !/^\d{1,9}$/.test(text))
    throw new ConfigError(`${option} must be a whole number.`)
  return Number(text)
}
