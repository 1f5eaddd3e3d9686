/** `client-document block|unblock|list`: apps that are known by a document at their address, and who of them is shut out. */
import { Command } from 'commander'
import type { FastifyInstance } from 'fastify'
import type { Blocked, BlockedName } from '../../plugins/client-documents/blocked.ts'
import { ConfigError } from '../config.ts'
import { withJson } from './json-option.ts'
import { wholeNumber } from './option.ts'
import { print, withServer } from './run.ts'

/** As many as are read at once. */
const PAGE = 100

interface Options {
  json?: boolean
  after?: string
  limit?: string
}

export function clientDocumentCommand(): Command {
  const command = new Command('client-document').description('apps that are known by their address')
  withJson(command.command('list').description('addresses and hosts that are blocked'))
    .option('--after <name>', 'begin behind this one')
    .option('--limit <number>', 'at most so many', '1000')
    .action(async ({ json, after, limit }: Options) =>
      withBlocked(async (blocked) => {
        const names = await namesOf(blocked, after, wholeNumber('--limit', limit))
        const listed = names.map(({ name, since }) => ({ name, since: new Date(since).toISOString() }))
        print(
          listed,
          listed.map(({ name, since }) => `${name}  since ${since}`),
          json,
        )
      }),
    )
  withJson(command.command('block <name>'))
    .description('block an address, or a host with all that it has: what it had of people ends')
    .action(async (name: string, { json }: Options) =>
      withBlocked(async (blocked) => {
        await blocked.block(name)
        print({ name, blocked: true }, [`${name} is blocked, and what it had of people has ended.`], json)
      }),
    )
  withJson(command.command('unblock <name>'))
    .description('let one in again: people have to allow it anew')
    .action(async (name: string, { json }: Options) =>
      withBlocked(async (blocked) => {
        if (!(await blocked.unblock(name)))
          throw new ConfigError(`${name.slice(0, 200)} is not blocked: \`client-document list\` has what is.`)
        print({ name, blocked: false }, [`${name} is not blocked any more.`], json)
      }),
    )
  return command
}

async function namesOf(
  blocked: Blocked,
  begin: string | undefined,
  most: number,
): Promise<readonly BlockedName[]> {
  const found: BlockedName[] = []
  for (let after: string | null | undefined = begin; after !== null && found.length < most;) {
    const { names, next } = await blocked.list({ after, limit: PAGE })
    found.push(...names)
    after = next
  }
  return found.slice(0, most)
}

async function withBlocked(work: (blocked: Blocked) => Promise<void>): Promise<void> {
  await withServer(async (_kernel, server) => work(clientDocumentsOf(server).blocked))
}

/** Throws `ConfigError` where no such apps are taken. */
export function clientDocumentsOf(server: FastifyInstance): FastifyInstance['clientDocuments'] {
  if (server.hasDecorator('clientDocuments')) return server.clientDocuments
  throw new ConfigError(
    'Apps by address are not taken here: set OIDC_CLIENT_METADATA_DOCUMENTS, or OIDC_PROFILE=mcp.',
  )
}
