/**
 * Settings of plugins: each declares its own, by a schema as ours have, and gets what this server was given for them. Their
 * names are known from then on, so that a misspelt one is told of.
 */
import type { Static, TObject } from 'typebox'
import { isObject } from '../protocol/json.ts'
import {
  ConfigError,
  namesOf,
  parseSetting,
  settingsOf,
  type SettingSchema,
  type SettingValues,
} from './setting-value.ts'
import { Settings } from './index.ts'
import { noteSecret } from './secrets.ts'

/**
 * Reads settings of a plugin: by their names, from where those of the server are. A member has a `description`, and may have a
 * `default`; one with neither that nor `Type.Optional` must be set. `secret: true` keeps its value out of every message, and lets
 * NAME_FILE name a file that holds it. Throws `ConfigError` in one sentence that names the setting.
 */
export type ReadSettings = <const S extends TObject>(schema: S) => Readonly<Static<S>>

export interface PluginSettings {
  readonly read: ReadSettings
  /** All that were read so far. */
  readonly names: ReadonlySet<string>
}

const NAME = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$/
/** Begins those of the server. */
const OURS = 'OIDC_'
const KINDS = new Set(['string', 'integer', 'number', 'boolean', 'array'])

export function createPluginSettings(values: SettingValues): PluginSettings {
  const names = new Set<string>()
  return {
    names,
    read<S extends TObject>(schema: S): Readonly<Static<S>> {
      if (!isObject(schema) || !isObject(schema['properties']))
        throw new ConfigError('Settings must be a schema, such as Type.Object({ GREETING: Type.String() }).')
      const parsed = settingsOf(schema).map(([name, setting]) => {
        for (const taken of namesOf(name, setting)) {
          if (names.has(taken)) throw new ConfigError(`The setting ${taken} is taken.`)
          names.add(taken)
        }
        noteSecret(name, setting)
        return [name, parseOwn(schema, name, setting, values)] as const
      })
      const given = Object.fromEntries(parsed.filter(([, value]) => value !== undefined))
      return Object.freeze(given) as Readonly<Static<S>>
    },
  }
}

/** The value of one of a schema's. Throws `ConfigError`, also where it must be set and is not. */
export function parseOwn(
  schema: TObject,
  name: string,
  setting: SettingSchema,
  values: SettingValues,
): unknown {
  assertDeclared(name, setting)
  const value = parseSetting(name, setting, values)
  if (value === undefined && isRequired(schema, name))
    throw new ConfigError(`${name} must be set: ${setting.description}.`)
  return value
}

/** Throws `ConfigError` for one that no plugin may have, or nobody could understand. */
function assertDeclared(name: string, { type, enum: values, description }: SettingSchema): void {
  if (Object.hasOwn(Settings.properties, name) || name.startsWith(OURS))
    throw new ConfigError(`The setting ${name} is taken: it is the server's.`)
  if (!NAME.test(name))
    throw new ConfigError(`The setting ${name} must have a name of capitals, such as GREETING_LANGUAGE.`)
  if (typeof description !== 'string' || description === '')
    throw new ConfigError(`The setting ${name} needs a description, for who sets it.`)
  if (values === undefined && !KINDS.has(type ?? ''))
    throw new ConfigError(
      `The setting ${name} must be a text, a number, a boolean, an enum or a list of texts.`,
    )
}

/** A schema whose members may all be absent has no list of those that may not. */
function isRequired({ required = [] }: { required?: readonly string[] }, name: string): boolean {
  return required.includes(name)
}
