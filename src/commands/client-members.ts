/** Reads client metadata from the command line: each member is an option of its name, and keeps its JSON type. */
import type { Command } from 'commander'
import type { TObject, TSchema } from 'typebox'
import { ConfigError } from '../config.ts'
import { ClientMetadata } from '../protocol/client-metadata.ts'
import { isObject } from '../protocol/json.ts'
import { closeTo, findNearest } from '../protocol/nearest.ts'
import { memberValue, optionName, parseJson } from './option.ts'

/** Where a command lacks what the server has. */
export const OF_PLUGINS = 'One of a plugin is known where PLUGINS names that.'

/** The members that were given. Throws `ConfigError` for an option that is no member, or malformed JSON. */
export function membersFrom(command: Command, extensions: readonly TObject[]): Record<string, unknown> {
  const schemas = new Map<string, TSchema>([
    ...Object.entries(ClientMetadata.properties),
    ['redirect_uri', ClientMetadata.properties.redirect_uris],
    ...extensions.flatMap(({ properties }) => Object.entries(properties)),
  ])
  const members: Record<string, unknown> = {}
  const metadata = command.opts()['metadata'] as string | undefined
  if (metadata !== undefined) Object.assign(members, parseObject('--metadata', metadata))
  for (const [name, values] of [...known(command), ...unknown(command)]) {
    const schema = schemas.get(name)
    if (schema === undefined)
      throw new ConfigError(
        `${optionName(name)} is not an option, nor a member of client metadata. ${meantBy(name, [...schemas.keys()]) ?? OF_PLUGINS}`,
      )
    members[name] = memberValue(name, schema, values)
  }
  return members
}

function meantBy(name: string, members: readonly string[]): string | undefined {
  const { nearest, distance } = findNearest(name, members, closeTo(name) + 1)
  return distance > closeTo(name) ? undefined : `Did you mean ${optionName(nearest)}?`
}

function known(command: Command): [string, string[]][] {
  return Object.entries(command.opts<Record<string, unknown>>()).flatMap(([key, values]) =>
    Array.isArray(values)
      ? [[key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), values as string[]]]
      : [],
  )
}

/** `--name value` and `--name=value` that commander did not know. */
function unknown(command: Command): [string, string[]][] {
  const found = new Map<string, string[]>()
  const rest = command.args.slice(command.registeredArguments.length)
  for (let at = 0; at < rest.length; at++) {
    const [, option, inline] = /^--([a-z][a-z0-9-]*)(?:=(.*))?$/s.exec(rest[at]!) ?? []
    if (option === undefined) throw new ConfigError(`${rest[at]} is not understood.`)
    const value = inline ?? rest[++at]
    if (value === undefined) throw new ConfigError(`--${option} has no value.`)
    const name = option.replaceAll('-', '_')
    found.set(name, [...(found.get(name) ?? []), value])
  }
  return [...found]
}

function parseObject(option: string, text: string): object {
  const value = parseJson(option, text)
  if (!isObject(value)) throw new ConfigError(`${option} must be a JSON object.`)
  return value
}
