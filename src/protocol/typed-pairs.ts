/** An object as people type it: JSON, or pairs such as `email=mail`. */
import { parseJson } from './json.ts'
import { memberTwiceIn } from './strict-json.ts'

export interface Typed {
  /** What the text says; undefined where it is neither. */
  typed?: unknown
  /** A name that it has twice, of which one value would be forgotten. */
  twice?: string | undefined
}

/** `between` parts pairs; `pair` matches one, with its name and its value as groups. */
export function parseTyped(text: string, between: RegExp, pair: RegExp): Typed {
  const typed = parseJson(text)
  if (typed !== undefined) return { typed, twice: memberTwiceIn(text)?.name }
  const found = text
    .split(between)
    .filter((one) => one !== '')
    .map((one) => pair.exec(one))
  if (!found.every((one) => one !== null)) return {}
  const entries = found.map(([, name = '', value = '']) => [name, value] as const)
  const names = entries.map(([name]) => name)
  return { typed: Object.fromEntries(entries), twice: names.find((one, at) => names.indexOf(one) < at) }
}
