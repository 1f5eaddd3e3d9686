/**
 * Schemas in wire names, and what does not fit them. They are TypeBox's, by their types and in their shape, so that those
 * of plugins mix with ours; but TypeBox itself, 680 modules and 25 MiB of a process, is only loaded by who imports it. What
 * checks is Ajv, which Fastify brings.
 */
import { Ajv, type ValidateFunction } from 'ajv'
import type { TProperties, TSchema, Type as TypeBox } from 'typebox'

type Options = Readonly<Record<string, unknown>>

/** The part of TypeBox's `Type` that Latchkey itself is written with. */
export const Type = {
  String: (options?: Options) => create('String', { type: 'string', ...options }),
  Boolean: (options?: Options) => create('Boolean', { type: 'boolean', ...options }),
  Integer: (options?: Options) => create('Integer', { type: 'integer', ...options }),
  Number: (options?: Options) => create('Number', { type: 'number', ...options }),
  Enum: (values: readonly string[], options?: Options) => create('Enum', { enum: values, ...options }),
  Array: (items: TSchema, options?: Options) => create('Array', { type: 'array', items, ...options }),
  Object: (properties: TProperties, options?: Options) => {
    const required = Object.keys(properties).filter((name) => !Object.hasOwn(properties[name]!, '~optional'))
    const members = required.length > 0 ? { required, properties } : { properties }
    return create('Object', { type: 'object', ...members, ...options })
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

function create(kind: string, schema: object): TSchema {
  return hide(schema, '~kind', kind)
}

function optional(schema: TSchema): TSchema {
  return hide(Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)), '~optional', true)
}

/** What TypeBox knows its own by, where nobody sees it. */
function hide(schema: object, name: string, value: unknown): TSchema {
  return Object.defineProperty(schema, name, { value, configurable: true, writable: true })
}

/** Why a value does not fit: the keyword that it fails, the JSON pointer of where, and a phrase such as `must be string`. */
export interface Misfit {
  readonly keyword: string
  readonly instancePath: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message: string
}

// Keywords and formats that are not JSON Schema's are for those who read them: the pages, the command line, the registry.
const ajv = new Ajv({
  strict: false,
  meta: false,
  validateSchema: false,
  validateFormats: false,
  logger: false,
})
const compiled = new WeakMap<TSchema, ValidateFunction>()

/** The first reason, or undefined for what fits. A schema is compiled when something is held against it first. */
export function misfitOf(schema: TSchema, value: unknown): Misfit | undefined {
  let fits = compiled.get(schema)
  if (fits === undefined) compiled.set(schema, (fits = ajv.compile(schema)))
  if (fits(value)) return undefined
  const { keyword, instancePath, params, message = 'is malformed' } = fits.errors![0]!
  return { keyword, instancePath, params, message: message.replace('NOT', 'not') }
}
