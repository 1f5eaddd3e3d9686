/** `client create|list|show|update|rotate-secret|delete`, by the names of RFC 7591. */
import { Command, Option } from 'commander'
import type { FastifyInstance } from 'fastify'
import { appSettings } from '../../plugins/admin/clients/app-settings.ts'
import type { Kernel } from '../services/kernel.ts'
import { ConfigError } from '../config.ts'
import { ClientMetadata, clientToWire, type ClientInformation } from '../protocol/client-metadata.ts'
import { metadataError, OAuthError } from '../protocol/errors.ts'
import { isMessage } from '../protocol/message.ts'
import { CLIENT_KINDS, type ClientKindName } from '../services/clients/client-kinds.ts'
import { namedBy, warnOfAbsent } from './absent.ts'
import { nobodyServes } from '../services/clients/client-policies.ts'
import { membersFrom, OF_PLUGINS } from './client-members.ts'
import { describeMember, membersOfPlugins, termOf } from './client-help.ts'
import { withJson } from './json-option.ts'
import { optionName, wholeNumber } from './option.ts'
import { listed } from './record.ts'
import { print, toLines, withServer } from './run.ts'
import { servedBy } from './served.ts'

interface Options {
  kind?: ClientKindName
  json?: boolean
  env?: boolean
  strict?: boolean
  yes?: boolean
  overlap?: string
  after?: string
  search?: string
  limit?: string
}

export function clientCommand(): Command {
  const command = new Command('client').description('registered clients')
  withMembers(
    withEnv(
      command
        .command('create')
        .description('register a client; a generated secret is shown this once')
        .addOption(
          new Option('--kind <kind>', 'begin with what such clients have in common').choices(
            Object.keys(CLIENT_KINDS),
          ),
        ),
    ),
  ).action(async (options: Options, self: Command) =>
    change({ ...options, begins: true }, async (oauth, { log }) => {
      const members = { ...kindOf(options), ...membersFrom(self, oauth.clients.extensions()) }
      const isServed = await servedBy(oauth.issuer, members)
      const created = await oauth.clients.create(members, { ...options, isServed })
      await warnOfAbsent(oauth, log, namedBy(members))
      if (!options.json && members['grant_types'] === undefined) tellOwnTokens(created)
      return created
    }),
  )
  withMembers(command.command('update <client_id>').description('change members of a client')).action(
    async (id: string, options: Options, self: Command) =>
      change(options, async (oauth, { log }) => {
        const members = membersFrom(self, oauth.clients.extensions())
        const isServed = await servedBy(oauth.issuer, members)
        const updated = await oauth.clients.update(id, members, { ...options, isServed })
        await warnOfAbsent(oauth, log, namedBy(members))
        return updated
      }),
  )
  withJson(command.command('list').description('clients by client_id'))
    .option('--after <client_id>', 'begin behind this one')
    .option('--search <text>', 'only those whose id or name begins with it')
    .option('--limit <number>', 'at most so many', '1000')
    .action(async (options: Options) =>
      withServer(async ({ clients }) => {
        const found = await listed(options, {
          list: async (most) => clients.list(options.after, most),
          search: async (text, most) => clients.search(text, { limit: most }),
        })
        print(found.map(clientToWire), found.map(toLine), options.json)
      }),
    )
  withJson(
    withEnv(command.command('show <client_id>').description('one client, without its secrets')),
  ).action(async (id: string, options: Options) => change(options, async ({ clients }) => get(clients, id)))
  withJson(withEnv(command.command('rotate-secret <client_id>').description('a new secret, shown this once')))
    .option('--overlap <seconds>', 'how long the old one goes on working', '0')
    .action(async (id: string, options: Options) =>
      change(options, async ({ clients }) =>
        clients.rotateSecret(id, wholeNumber('--overlap', options.overlap)),
      ),
    )
  withJson(command.command('delete <client_id>').description('remove a client; its tokens are dead'))
    .option('--yes', 'do it')
    .action(async (id: string, options: Options) => {
      if (!options.yes) throw new ConfigError(`client delete removes ${id} for good: add --yes.`)
      await withServer(async ({ clients }) => {
        if (!(await clients.delete(id))) throw metadataError('client_id', 'is not registered')
        print({ client_id: id, deleted: true }, [`${id} is deleted.`], options.json)
      })
    })
  return command
}

function kindOf({ kind }: Options): Record<string, unknown> {
  return kind === undefined ? {} : { ...CLIENT_KINDS[kind] }
}

const EXAMPLES = `
Examples:
  npx latchkey client create --client-name Shop --redirect-uris https://shop.example/callback --env
  npx latchkey client create --client-id reports --scope read_books`

/** As `/admin` shows them. */
function withEnv(command: Command): Command {
  return command.addOption(
    new Option('--env', "the app's settings on stdout, as the lines of a .env file").conflicts('json'),
  )
}

/** Options for every member of client metadata; plugins' members are taken too, once they are loaded. */
function withMembers(command: Command): Command {
  for (const [name, schema] of Object.entries(ClientMetadata.properties))
    command.option(`${optionName(name)} <value...>`, describeMember(name, schema))
  command
    .configureHelp({ optionTerm: termOf })
    .option('--redirect-uri <uri...>', 'the same as --redirect-uris')
    .option('--metadata <json>', 'members as a JSON object')
    .option('--strict', 'refuse a scope that is registered nowhere, where else a warning tells of it')
    .allowUnknownOption()
    .allowExcessArguments()
    .addHelpText(
      'after',
      `
Members that plugins add, ours and those of PLUGINS, are options in the same way: --member-name value.
${membersOfPlugins().join('\n')}
${EXAMPLES}`,
    )
  return withJson(command)
}

/** Of who asked for an app that signs people in: what follows from its secret and its scopes. */
function tellOwnTokens({ grant_types: grants = [], scope = [] }: ClientInformation): void {
  if (!grants.includes('authorization_code') || !grants.includes('client_credentials')) return
  console.error(
    `It signs people in, and may get tokens for itself too (client_credentials) with: ${scope.join(' ')}. Without that: --grant-types authorization_code refresh_token`,
  )
}

async function change(
  { json, env, begins = false }: Options & { begins?: boolean },
  work: (oauth: Kernel, server: FastifyInstance) => Promise<ClientInformation>,
): Promise<void> {
  await withServer(
    async (oauth, server) => {
      const client = await work(oauth, server).catch(tellOfPlugins)
      const lines = env
        ? [appSettings(oauth.issuer, client, client.client_secret).env]
        : toLines(clientToWire(client))
      print(clientToWire(client), lines, json)
    },
    { begins },
  )
}

/** A command has the plugins of its own environment, which the server's may not be. */
function tellOfPlugins(error: unknown): never {
  const { reason: words = '' } = (error instanceof OAuthError && error.about) || {}
  if (!isMessage(words) || words.text !== nobodyServes([]).text) throw error
  throw new ConfigError(`${(error as OAuthError).message}. ${OF_PLUGINS}`)
}

async function get(clients: Kernel['clients'], id: string): Promise<ClientInformation> {
  const client = await clients.find(id)
  if (client === null) throw metadataError('client_id', 'is not registered')
  return client
}

function toLine(client: ClientInformation): string {
  return `${client.client_id}  ${client.client_name ?? ''}  ${(client.grant_types ?? []).join(' ')}`
}
