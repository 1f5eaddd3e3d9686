/** What handlers answer programs with, where that is more than the members of a JSON object. */
import type { Bag } from '../protocol/bag.ts'
import { assertSendable } from '../protocol/headers.ts'
import { isObject } from '../protocol/json.ts'

export interface AnswerOptions {
  /** Default 200, or 204 without a body. */
  readonly status?: number
  /** Beside those of the house, lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, or a text of another `type`. */
  readonly body?: Bag | readonly unknown[] | string
  /** The media type of a text, such as `application/jwt`. */
  readonly type?: string
}

/** What every copy of this module knows its answers by: a plugin may bring a `latchkey` of its own along. */
const BRAND = Symbol.for('latchkey.Answer')
const JSON_TYPE = 'application/json'

/** What `answer` makes. */
export interface Answer {
  /** @internal */
  readonly [BRAND]: true
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** As it is sent; absent where nothing is. */
  readonly text?: string
  readonly type: string
  /** The members of a JSON object, for other forms of it. */
  readonly body?: Bag
}

/**
 * An answer that is more than 200 and JSON. Throws TypeError for a text without its type, and for what is no status or
 * no header of an answer.
 */
export function answer({ status, headers = {}, body, type }: AnswerOptions): Answer {
  const code = status ?? (body === undefined ? 204 : 200)
  if (!Number.isInteger(code) || code < 200 || code > 599) throw new TypeError(`${code} is no status`)
  if (typeof body === 'string' && type === undefined) throw new TypeError('a text needs its type')
  assertSendable('an answer', { ...headers, 'content-type': type ?? JSON_TYPE })
  const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
  return {
    [BRAND]: true,
    status: code,
    headers,
    type: type ?? JSON_TYPE,
    ...(text === undefined ? {} : { text }),
    ...(isObject(body) ? { body } : {}),
  }
}

/** Whether a handler answered with what `answer` makes, by whatever copy of this module. */
export function isAnswer(value: object): value is Answer {
  return BRAND in value
}
