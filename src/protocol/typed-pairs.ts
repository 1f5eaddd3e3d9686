/** An object as people type it: as JSON, or as pairs such as `email=mail`. */
import { parseJson } from './json.ts'
import { memberTwiceIn } from './strict-json.ts'

export interface Typed {
  /** What the text says; undefined where it is neither. */
  typed?: unknown
  /** A name that it has twice, of which one value would be forgotten. */
  twice?: string | undefined
}

/** What is no JSON is neither. */
export function parseTypedJson(text: string): Typed {
  const typed = parseJson(text)
  return typed === undefined ? {} : { typed, twice: memberTwiceIn(text)?.name }
}

/** `between` parts pairs; `pair` matches one, with its name and its value as groups. */
export function parseTyped(text: string, between: RegExp, pair: RegExp): Typed {
  const json = parseTypedJson(text)
  if (json.typed !== undefined) return json
  const found = text
    .split(between)
    .filter((one) => one !== '')
    .map((one) => pair.exec(one))
  if (!found.every((one) => one !== null)) return {}
  const entries = found.map(([, name = '', value = '']) => [name, value] as const)
  const names = entries.map(([name]) => name)
  return { typed: Object.fromEntries(entries), twice: names.find((one, at) => names.indexOf(one) < at) }
}
