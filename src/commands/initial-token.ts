/** `initial-token create|list|delete`: initial access tokens (RFC 7591 §3), by which apps register themselves. */
import { Command } from 'commander'
import { ConfigError } from '../config.ts'
import { metadataError } from '../protocol/errors.ts'
import { warnOfAbsent } from './absent.ts'
import { withJson } from './json-option.ts'
import { wholeNumber } from './option.ts'
import { print, toLines, withServer } from './run.ts'

interface CreateOptions {
  json?: boolean
  uses?: string
  expiresIn?: string
  scopes?: string
  grantTypes?: string
  redirectHosts?: string
}

export function initialTokenCommand(): Command {
  const command = new Command('initial-token').description(
    'initial access tokens, by which apps register themselves',
  )
  withJson(command.command('create <name>').description('a new token, which is shown this once'))
    .option('--uses <number>', 'how many apps it registers', '1')
    .option('--expires-in <seconds>', 'how long it is good', '604800')
    .option('--scopes <list>', 'registered scopes that they may have; by default OIDC_REGISTRATION_SCOPES')
    .option('--grant-types <list>', 'grant types that they may use; by default those of the code flow')
    .option('--redirect-hosts <list>', 'hosts that their redirect URIs may have; by default any')
    .action(async (name: string, { json, uses, expiresIn, ...lists }: CreateOptions) =>
      withServer(
        async (kernel, { log }) => {
          const [scopes, grantTypes] = [listOf(lists.scopes), listOf(lists.grantTypes)]
          const token = await kernel.initialTokens.create({
            name,
            uses: wholeNumber('--uses', uses),
            expires_in: wholeNumber('--expires-in', expiresIn),
            scopes,
            grant_types: grantTypes,
            redirect_hosts: listOf(lists.redirectHosts),
          })
          await warnOfAbsent(kernel, log, { scopes, grantTypes })
          print({ name, token }, [token], json)
        },
        { begins: true },
      ),
    )
  withJson(command.command('list').description('the tokens by name, used up and expired ones for a month'))
    .option('--after <name>', 'begin behind this one')
    .option('--limit <number>', 'at most so many', '1000')
    .action(async ({ json, after, limit }: { json?: boolean; after?: string; limit?: string }) =>
      withServer(async ({ initialTokens }) => {
        const listed = await initialTokens.list({ after, limit: wholeNumber('--limit', limit) })
        print(
          listed,
          listed.map((one) => toLines(one).join('  ')),
          json,
        )
      }),
    )
  withJson(command.command('delete <name>').description('end a token; what it has registered stays'))
    .option('--yes', 'do it')
    .action(async (name: string, { json, yes }: { json?: boolean; yes?: boolean }) => {
      if (!yes) throw new ConfigError(`initial-token delete ends ${name} for good: add --yes.`)
      await withServer(async ({ initialTokens }) => {
        if (!(await initialTokens.delete(name))) throw metadataError('name', 'is no initial token')
        print({ name, deleted: true }, [`${name} is deleted.`], json)
      })
    })
  return command
}

function listOf(text: string | undefined): string[] | undefined {
  return text?.split(/[\s,]+/).filter((one) => one !== '')
}
