/**
 * What people read, before it is said in their language: a sentence in English, and what stands in it. The English is the key of the
 * catalogues in `templates/languages/`.
 */

/** What a message says in the place of `{name}`: as it is, as an instant of theirs, or in their language as well. */
export type MessageValue = string | number | Date | Message | readonly MessageValue[]
export type MessageValues = Readonly<Record<string, MessageValue>>

export interface Message {
  /** In ICU MessageFormat: `{name}` for a value, `{count, plural, one {# app} other {# apps}}`. */
  readonly text: string
  readonly values: MessageValues
}

/** Text that is shown as it is, where no catalogue has it, or a message. */
export type Words = string | Message

/**
 * A message for people, said in their language where it is shown. `text` is written out at the call, for a test to find that every
 * catalogue has it.
 */
export function message(text: string, values: MessageValues = {}): Message {
  return { text, values }
}

/** What is wrong with something, as it follows its name: “must not be empty”. People read it as a sentence (`sentenceOf`). */
export function reason(text: string, values: MessageValues = {}): Message {
  return { text, values }
}

/** What follows a name, as a sentence of its own at a field. */
export function sentenceOf(words: Words): Words {
  if (isMessage(words)) return { ...words, text: sentenceOf(words.text) as string }
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`
}

export function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && 'text' in value && 'values' in value
}

/** With more values; a string that has some is a message, and one that has none may be any text. */
export function withValues(words: Words, values: MessageValues | undefined): Words {
  if (values === undefined) return words
  return isMessage(words) ? { ...words, values: { ...words.values, ...values } } : { text: words, values }
}

/** In English, for answers that are no pages and for the log. Of the format it knows `{name}` and `{name, number}` alone. */
export function inEnglish(words: Words): string {
  if (typeof words === 'string') return words
  return words.text.replaceAll(/\{(\w+)(?:, number)?\}/g, (_whole, name: string) =>
    valueInEnglish(words.values[name] ?? ''),
  )
}

function valueInEnglish(value: MessageValue): string {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return (value as readonly MessageValue[]).map(valueInEnglish).join(', ')
  return isMessage(value) ? inEnglish(value) : `${value as string | number}`
}
