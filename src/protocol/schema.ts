/**
 * Schemas in wire names, and what does not fit them. They are TypeBox's, by their types and in their shape, so that those
 * of plugins mix with ours; but TypeBox itself, 680 modules, is only loaded by who imports it. Ours are checked by Ajv,
 * which Fastify brings, and those that a plugin made with TypeBox by TypeBox, which knows more than JSON Schema.
 */
import { createRequire } from 'node:module'
import { Ajv, type ValidateFunction } from 'ajv'
import type { TProperties, TSchema, Type as TypeBox } from 'typebox'
import type { Compile } from 'typebox/compile'
import { type Message, reason, type Words } from './message.ts'

type Options = Readonly<Record<string, unknown>>

/** The part of TypeBox's `Type` that Latchkey itself is written with. */
export const Type = {
  String: (options?: Options) => create('String', { type: 'string', ...options }),
  Boolean: (options?: Options) => create('Boolean', { type: 'boolean', ...options }),
  Integer: (options?: Options) => create('Integer', { type: 'integer', ...options }),
  Number: (options?: Options) => create('Number', { type: 'number', ...options }),
  Enum: (values: readonly string[], options?: Options) => create('Enum', { enum: values, ...options }),
  Array: (items: TSchema, options?: Options) =>
    create('Array', { type: 'array', items, ...options }, [items]),
  Object: (properties: TProperties, options?: Options) => {
    const required = Object.keys(properties).filter((name) => !Object.hasOwn(properties[name]!, '~optional'))
    const members = required.length > 0 ? { required, properties } : { properties }
    return create('Object', { type: 'object', ...members, ...options }, Object.values(properties))
  },
  Optional: optional,
  Partial: ({ properties }: { properties: TProperties }) =>
    Type.Object(
      Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, optional(one)] as const)),
    ),
} as unknown as Pick<
  typeof TypeBox,
  'String' | 'Boolean' | 'Integer' | 'Number' | 'Enum' | 'Array' | 'Object' | 'Optional' | 'Partial'
>

/** Those that are made of nothing but ours. */
const ours = new WeakSet<TSchema>()

function create(kind: string, schema: object, inner: readonly TSchema[] = []): TSchema {
  const made = hide(schema, '~kind', kind)
  if (inner.every((one) => ours.has(one))) ours.add(made)
  return made
}

function optional(schema: TSchema): TSchema {
  const copy: object = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema))
  const made = hide(copy, '~optional', true)
  if (ours.has(schema)) ours.add(made)
  return made
}

/** What TypeBox knows its own by, where nobody sees it. */
function hide(schema: object, name: string, value: unknown): TSchema {
  return Object.defineProperty(schema, name, { value, configurable: true, writable: true })
}

/** Why a value does not fit: the keyword that it fails, the JSON pointer of where, and a phrase such as `must be string`. */
export interface Misfit {
  readonly keyword: string
  readonly instancePath: string
  /** The member that is not there, where the keyword is `required`. */
  readonly missing?: string | undefined
  readonly message: string
  /** The same, for people: a phrase that follows the name of what does not fit. */
  readonly words: Words
}

/** The first reason, or undefined for what fits. */
export type Check = (value: unknown) => Misfit | undefined

const checks = new WeakMap<TSchema, Check>()

/** One of ours is compiled when something is held against it first, another at once: it throws if it cannot be. */
export function checkOf(schema: TSchema): Check {
  const known = checks.get(schema)
  if (known !== undefined) return known
  const check = ours.has(schema) ? byAjv(schema) : byTypeBox(schema)
  checks.set(schema, check)
  return check
}

export function misfitOf(schema: TSchema, value: unknown): Misfit | undefined {
  return checkOf(schema)(value)
}

// Keywords and formats that are not JSON Schema's are for those who read them: the pages, the command line, the registry.
const ajv = new Ajv({
  strict: false,
  meta: false,
  validateSchema: false,
  validateFormats: false,
  addUsedSchema: false,
  logger: false,
})

function byAjv(schema: TSchema): Check {
  let fits: ValidateFunction | undefined
  return (value) => {
    fits ??= ajv.compile(schema)
    if (fits(value)) return undefined
    const { keyword, instancePath, params, message: text = 'is malformed' } = fits.errors![0]!
    const missing = params['missingProperty'] as string | undefined
    const message = text.replace('NOT', 'not')
    return { keyword, instancePath, missing, message, words: wordsOf(keyword, params) ?? message }
  }
}

const require = createRequire(import.meta.url)

function byTypeBox(schema: TSchema): Check {
  const typebox = require('typebox/compile') as { Compile: typeof Compile }
  const validator = typebox.Compile(schema)
  return (value) => {
    if (validator.Check(value)) return undefined
    const [error] = validator.Errors(value)
    if (error === undefined)
      return { keyword: '', instancePath: '', message: 'is malformed', words: reason('is malformed') }
    const { requiredProperties = [] } = error.params as { requiredProperties?: string[] }
    return { ...error, missing: requiredProperties[0], words: error.message }
  }
}

const TYPES: ReadonlyMap<unknown, Message> = new Map([
  ['string', reason('must be string')],
  ['number', reason('must be number')],
  ['integer', reason('must be integer')],
  ['boolean', reason('must be boolean')],
  ['object', reason('must be object')],
  ['array', reason('must be array')],
])

export const ASCII = '^[\\x20-\\x7e]+$'
export const ASCII_WITHOUT_SPACES = '^[\\x21-\\x7e]+$'
export const WEB_ADDRESS = '^https?://[^\\s]+$'
/** Ajv says a pattern as it is written, which is nothing to people. */
const PATTERNS: ReadonlyMap<unknown, Message> = new Map([
  [ASCII, reason('must have only ASCII characters')],
  [ASCII_WITHOUT_SPACES, reason('must have only ASCII characters, and no spaces')],
  [WEB_ADDRESS, reason('must be an absolute http or https URL')],
])

/** What Ajv says, word for word, as far as people meet it. */
function wordsOf(
  keyword: string,
  { type, limit = 0, pattern, missingProperty, additionalProperty }: Readonly<Record<string, unknown>>,
): Message | undefined {
  const values = { limit: limit as number }
  switch (keyword) {
    case 'type':
      return TYPES.get(type)
    case 'maxLength':
      return reason('must not have more than {limit} characters', values)
    case 'minLength':
      if (limit === 1) return reason('must not be empty')
      return reason('must not have fewer than {limit} characters', values)
    case 'minItems':
      if (limit === 1) return reason('must not be empty')
      return reason('must not have fewer than {limit} items', values)
    case 'maxItems':
      return reason('must not have more than {limit} items', values)
    case 'required':
      return reason('needs {name}', { name: String(missingProperty) })
    case 'additionalProperties':
      return reason('has {name}, which is not known there', { name: String(additionalProperty) })
    case 'minimum':
      return reason('must be >= {limit}', values)
    case 'maximum':
      return reason('must be <= {limit}', values)
    case 'pattern':
      return PATTERNS.get(pattern)
    case 'enum':
      return reason('must be equal to one of the allowed values')
    default:
      return undefined
  }
}
