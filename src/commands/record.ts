/** Commands for things of a few members that have a name of their own: `create|list|show|update|delete`, by their wire names. */
import { Command } from 'commander'
import type { Kernel } from '../services/kernel.ts'
import { ConfigError } from '../config.ts'
import { metadataError } from '../protocol/errors.ts'
import type { Laid } from '../protocol/resource-information.ts'
import type { ListOptions, SaveOptions } from '../services/resource-registry.ts'
import { type Named, warnOfAbsent } from './absent.ts'
import { withJson } from './json-option.ts'
import { optionKey, optionName, wholeNumber } from './option.ts'
import { print, toLines, withServer } from './run.ts'

/** What an option is called that is given; all but seconds, booleans and URIs reach the registry as they were typed. */
type Value = 'text' | 'uri' | 'seconds' | 'format' | 'list' | 'yes' | 'pairs' | 'boolean' | 'uris'

export interface RecordKind<Information extends object> {
  /** The command, and what it is for. */
  readonly name: string
  readonly description: string
  /** What `delete` does. */
  readonly ending: string
  /** The member that identifies it. */
  readonly identifier: string
  /** All other members: each is an option, and an empty text takes it away. */
  readonly members: readonly { name: string; value: Value; text: string }[]
  /** One of them in a list for people; by default all of it. */
  toLine?(one: Information): string
  /** What it names of others, which may be missing. */
  named?(one: Information): Named
  find(kernel: Kernel, id: string): Promise<Information | null>
  list(kernel: Kernel, options: ListOptions): Promise<Information[]>
  /** The registry looks at the values. */
  save(kernel: Kernel, members: Laid<Information>, options: SaveOptions): Promise<void>
  delete(kernel: Kernel, id: string): Promise<boolean>
}

interface Options {
  json?: boolean
  yes?: boolean
  after?: string
  limit?: string
}

export function recordCommand<Information extends object>(kind: RecordKind<Information>): Command {
  const { name, description, identifier } = kind
  const command = new Command(name).description(description)
  for (const [verb, text] of [
    ['create', `register ${oneOf(name)}`],
    ['update', `change members of ${oneOf(name)}`],
  ] as const)
    withMembers(command.command(`${verb} <${identifier}>`).description(text), kind).action(
      async (id: string, options: Options, self: Command) =>
        show(kind, id, { ...options, begins: verb === 'create' }, async (kernel) => {
          const members = membersFrom(self, id, kind)
          const isNew = verb === 'create'
          if (isNew && (await kind.find(kernel, id)) !== null)
            throw new ConfigError(`${identifier} is already registered: \`${name} update ${id}\` changes it.`)
          await kind.save(kernel, members, { isNew })
        }),
    )
  withJson(command.command('list').description(`${name}s by ${identifier}`))
    .option(`--after <${identifier}>`, 'begin behind this one')
    .option('--limit <number>', 'at most so many', '1000')
    .action(async ({ after, limit, ...options }: Options) =>
      withServer(async (kernel) => {
        const listed = await kind.list(kernel, { after, limit: wholeNumber('--limit', limit) })
        print(
          listed,
          listed.map((one) => (kind.toLine ?? toLine)(one)),
          options.json,
        )
      }),
    )
  withJson(command.command(`show <${identifier}>`).description(`one ${name}`)).action(
    async (id: string, options: Options) => show(kind, id, options),
  )
  withJson(command.command(`delete <${identifier}>`).description(kind.ending))
    .option('--yes', 'do it')
    .action(async (id: string, options: Options) => {
      if (!options.yes) throw new ConfigError(`${name} delete removes ${id} for good: add --yes.`)
      await withServer(async (kernel) => {
        if (!(await kind.delete(kernel, id))) throw metadataError(identifier, 'is not registered')
        print({ [identifier]: id, deleted: true }, [`${id} is deleted.`], options.json)
      })
    })
  return command
}

/** Those of a list that the options ask for. Throws `ConfigError` for options that do not go together. */
export async function listed<One>(
  { search, after, limit }: { search?: string; after?: string; limit?: string },
  by: {
    list(most: number): Promise<One[]>
    search(begin: string, most: number): Promise<{ readonly found: readonly One[] }>
  },
): Promise<readonly One[]> {
  const most = wholeNumber('--limit', limit)
  if (search === undefined) return by.list(most)
  if (after !== undefined) throw new ConfigError('--search and --after do not go together.')
  return (await by.search(search, most)).found
}

function oneOf(name: string): string {
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`
}

function withMembers<Information extends object>(
  command: Command,
  { members }: RecordKind<Information>,
): Command {
  for (const { name, value, text } of members) command.option(`${optionName(name)} <${value}>`, text)
  return withJson(command.addHelpText('after', '\nAn empty text takes a member away.'))
}

/** The members that were given; null for one to be without. Throws `ConfigError` for a number that is none. */
function membersFrom<Information extends object>(
  command: Command,
  id: string,
  { identifier, members }: RecordKind<Information>,
): Laid<Information> {
  const options = command.opts<Record<string, string | undefined>>()
  const given: Record<string, string | number | boolean | string[] | null> = { [identifier]: id }
  for (const { name, value } of members) {
    const text = options[optionKey(name)]
    if (text === undefined) continue
    given[name] = text === '' ? null : valueOf(value, name, text)
  }
  return given as Laid<Information>
}

function valueOf(value: Value, name: string, text: string): string | number | boolean | string[] {
  if (value === 'uris') return text.split(/\s+/).filter((one) => one !== '')
  if (value === 'seconds') return wholeNumber(optionName(name), text)
  return value === 'boolean' && /^(?:true|false)$/.test(text) ? text === 'true' : text
}

/** Prints it as it is after `work`. */
async function show<Information extends object>(
  kind: RecordKind<Information>,
  id: string,
  { json, begins = false }: Options & { begins?: boolean },
  work?: (oauth: Kernel) => Promise<void>,
): Promise<void> {
  await withServer(
    async (oauth, { log }) => {
      await work?.(oauth)
      const found = await kind.find(oauth, id)
      if (found === null) throw metadataError(kind.identifier, 'is not registered')
      if (work !== undefined && kind.named !== undefined) await warnOfAbsent(oauth, log, kind.named(found))
      print(found, toLines(found), json)
    },
    { begins },
  )
}

function toLine(one: object): string {
  return Object.values(one).join('  ')
}
