/** JSON from elsewhere. What is wrong with it is for the reader to say: the parser's own words would quote it. */

/** Undefined where the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An object with members, and no array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** NUL and lone surrogates, as `JSON.stringify` writes them. */
const ESCAPED = /\\u(?:0000|d[89a-f])/
/** The same behind whole pairs of backslashes, each of which is one that was in the text: `CORP\uday` has none. */
const REALLY_ESCAPED = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/

/** PostgreSQL holds neither NUL nor lone surrogates (22021, 22P02). */
export function isStorable(value: unknown): boolean {
  const text = JSON.stringify(value)
  return text !== undefined && (!ESCAPED.test(text) || !REALLY_ESCAPED.test(text))
}

/** Whether its numbers are what was written, and not beyond all (RFC 8259 §6). */
export function isFinite(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value !== 'object' || value === null || Object.values(value).every(isFinite)
}
