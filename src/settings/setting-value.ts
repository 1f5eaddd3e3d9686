/** One setting by its schema: where its text is, how it is read, what does not fit, and in which words that is said. */
import { closeSync, openSync, readSync } from 'node:fs'
import type { TObject, TSchema } from 'typebox'
import { misfitOf } from '../protocol/schema.ts'

/** What settings are parsed from: the environment's strings, or typed values from code. */
export type SettingValues = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>

/** A setting that cannot be used; its message is one sentence that names the setting. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** The keywords of a setting's schema that the parser and its messages read. */
export interface SettingSchema extends TSchema {
  type?: 'integer' | 'number' | 'boolean' | 'array' | 'string'
  description: string
  default?: unknown
  /** Its value is never printed. */
  secret?: boolean
  /** What it counts, for people. */
  unit?: string
  /** `off` is one of its values: of a text or a list that has it neither as its default nor in an enum. */
  takesOff?: boolean
  /** What must be given, for people, where the other keywords do not tell. */
  expects?: string
  minimum?: number
  maximum?: number
  minLength?: number
  enum?: string[]
}

/** Names and schemas, in their order. */
export function settingsOf({ properties }: TObject): [name: string, schema: SettingSchema][] {
  return Object.entries(properties) as [string, SettingSchema][]
}

/** What names the file of a secret one, as container systems and systemd hand secrets over. */
export const fileSetting = (name: string): string => `${name}_FILE`

/** By which it is set: a secret one also by its file. */
export const namesOf = (name: string, { secret = false }: SettingSchema): string[] =>
  secret ? [name, fileSetting(name)] : [name]

/** Undefined where it is not set and has no default. Throws `ConfigError`. */
export function parseSetting(name: string, schema: SettingSchema, values: SettingValues): unknown {
  const raw = schema.secret ? secretOf(name, values) : values[name]
  if (raw === undefined || raw === '') return schema.default
  const value = coerce(schema, raw)
  if (value !== undefined && misfitOf(schema, value) === undefined) return value
  const got = schema.secret ? '' : `; it is ${JSON.stringify(String(raw).slice(0, 80))}`
  throw new ConfigError(`${name} must be ${expectation(schema)}${got}.`)
}

/** From its file where that is named; the line's end is not part of it. */
function secretOf(name: string, values: SettingValues): SettingValues[string] {
  const [own, file] = [values[name], values[fileSetting(name)]]
  if (file === undefined || file === '') return own
  if (own !== undefined && own !== '')
    throw new ConfigError(`${name} and ${fileSetting(name)} are both set: take one of them away.`)
  const text = readSecret(name, String(file)).replace(/\r?\n$/, '')
  if (text === '') throw new ConfigError(`${fileSetting(name)} names a file that is empty: ${String(file)}.`)
  return text
}

/** Bytes of a file: as much as Linux takes for a variable. */
const MOST = 131_072

function readSecret(name: string, file: string): string {
  const refusal = (why: string, cause?: unknown): ConfigError =>
    new ConfigError(`${fileSetting(name)} names a file that ${why}: ${file}.`, { cause })
  let bytes: Buffer
  try {
    bytes = readUpTo(MOST + 1, file)
  } catch (error) {
    throw refusal(`cannot be read (${(error as NodeJS.ErrnoException).code})`, error)
  }
  if (bytes.length > MOST) throw refusal(`has more than ${MOST} bytes`)
  try {
    // What marks it as Unicode is left out.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw refusal('is no text in UTF-8', error)
  }
}

/** Also of what is no file and may have no end. */
function readUpTo(most: number, file: string): Buffer {
  const descriptor = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(most)
    let length = 0
    for (let read = 1; read > 0; length += read)
      read = readSync(descriptor, bytes, length, most - length, null)
    return bytes.subarray(0, length)
  } finally {
    closeSync(descriptor)
  }
}

/** Of a switch: nobody has to know which of them are said by `true` and which by `on`. */
const SWITCHED = new Map([
  ['true', { asBoolean: true, asWord: 'on' }],
  ['on', { asBoolean: true, asWord: 'on' }],
  ['false', { asBoolean: false, asWord: 'off' }],
  ['off', { asBoolean: false, asWord: 'off' }],
])

function coerce(schema: SettingSchema, raw: NonNullable<SettingValues[string]>): unknown {
  const switched = SWITCHED.get(String(raw).trim().toLowerCase())
  if (switched !== undefined && schema.type === 'boolean') return switched.asBoolean
  if (switched !== undefined && takesOff(schema))
    return schema.type === 'array' ? [switched.asWord] : switched.asWord
  if (typeof raw !== 'string') return raw
  if (schema.type === 'integer') return /^-?\d{1,15}$/.test(raw.trim()) ? Number(raw) : undefined
  if (schema.type === 'number')
    return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(raw.trim()) ? Number(raw) : undefined
  if (schema.type === 'boolean') return undefined
  if (schema.type === 'array')
    return raw
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '')
  return raw
}

const takesOff = (schema: SettingSchema): boolean =>
  schema.takesOff === true || schema.enum?.includes('off') === true || String(schema.default) === 'off'

function expectation({ type, unit, expects, minimum, maximum, minLength, ...schema }: SettingSchema): string {
  if (expects !== undefined) return expects
  if (type === 'boolean') return 'true or false'
  if (type === 'integer' || type === 'number') {
    const least = minimum === undefined ? '' : ` from ${minimum}`
    const most = maximum === undefined ? '' : ` to ${maximum}`
    return `a ${type === 'integer' ? 'whole ' : ''}number${unit ? ` of ${unit}` : ''}${least}${most}`
  }
  if (type === 'array') return 'a comma-separated list'
  if (schema.enum) return `one of ${schema.enum.join(', ')}`
  return minLength !== undefined && minLength > 1 ? `a text of ${minLength} characters or more` : 'a text'
}
