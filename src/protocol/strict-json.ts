/**
 * JSON of strangers: one object in UTF-8, each member once (RFC 8259 §4 leaves open which of two counts, and whoever stands
 * between us and the client may read the other), not deeper than anything that is meant.
 */
import type { Bag } from './bag.ts'
import { OAuthError } from './errors.ts'
import { isFinite, isObject, isStorable, parseJson } from './json.ts'

const MAX_DEPTH = 16
const TOKEN = /"(?:[^"\\]+|\\.)*"|[{}[\],]/g
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Throws `invalid_request`; nothing of the text is quoted. */
export function parseJsonObject(bytes: Uint8Array): Bag {
  const text = decode(bytes)
  const value = parseJson(text)
  if (value === undefined) throw refusal('must be JSON')
  if (!isObject(value)) throw refusal('must be a JSON object')
  assertMembers(text)
  if (!isStorable(value)) throw refusal('must not hold NUL or broken Unicode')
  if (!isFinite(value)) throw refusal('has a number that is out of range')
  return value
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw refusal('must be in UTF-8', cause)
  }
}

function assertMembers(text: string): void {
  for (const { depth, name, isAgain } of structureOf(text)) {
    if (depth > MAX_DEPTH) throw refusal('is nested too deeply')
    // Copied member by member, it would be no member.
    if (name === '__proto__') throw refusal('has a member that is called __proto__')
    if (isAgain) throw refusal('has a member twice')
  }
}

/** The first name that an object of the text has twice, of which the parser keeps the last, and in which line; undefined where none has. The text is JSON. */
export function memberTwiceIn(text: string): { name: string; line: number } | undefined {
  for (const { name, isAgain, at = 0 } of structureOf(text))
    if (isAgain) return { name: name!, line: text.slice(0, at).split('\n').length }
  return undefined
}

interface Structure {
  depth: number
  /** Of a member; whether its object has it already, and where this one stands. */
  name?: string
  isAgain?: boolean
  at?: number
}

/** What opens, and each name of a member. Of text that is JSON, so that brackets pair and a text after `{` or `,` of an object is a name. */
function* structureOf(text: string): Generator<Structure> {
  const open: (Set<string> | null)[] = []
  let namesNext = false
  for (const { 0: token, index: at } of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      yield { depth: open.push(token === '{' ? new Set() : null) }
      namesNext = token === '{'
    } else if (token === '}' || token === ']') {
      open.pop()
      namesNext = false
    } else if (token === ',') {
      namesNext = open.at(-1) !== null
    } else if (namesNext) {
      const [names, name] = [open.at(-1)!, JSON.parse(token) as string]
      yield { depth: open.length, name, isAgain: names.has(name), at }
      names.add(name)
      namesNext = false
    }
  }
}

function refusal(what: string, cause?: unknown): OAuthError {
  return new OAuthError('invalid_request', `the body ${what}`, { cause })
}
