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

/** PostgreSQL holds neither NUL nor lone surrogates (22021, 22P02). */
export function isStorable(value: unknown): boolean {
  const text = JSON.stringify(value)
  return text !== undefined && !text.includes(String.raw`\u0000`) && !/\\ud[89a-f]/.test(text)
}

/** Whether its numbers are what was written, and not beyond all (RFC 8259 §6). */
export function isFinite(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value !== 'object' || value === null || Object.values(value).every(isFinite)
}
