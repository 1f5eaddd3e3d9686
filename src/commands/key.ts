/** `key list`, `key rotate` and `key revoke`. */
import { inEnglish } from '../protocol/message.ts'
import { Command } from 'commander'
import type { Kernel } from '../services/kernel.ts'
import { ConfigError } from '../config.ts'
import { metadataError } from '../protocol/errors.ts'
import { whatRevokingEnds } from '../words/key-revocation.ts'
import { DATABASE } from '../services/keys/database-keys.ts'
import { keyToWire, type KeyOnWire } from '../services/keys/key-wire.ts'
import { withJson } from './json-option.ts'
import { print, withServer } from './run.ts'

interface Options {
  json?: boolean
  yes?: boolean
  algorithm?: string
}

export function keyCommand(): Command {
  const command = new Command('key').description('signing keys')
  withJson(command.command('list').description('published keys: next, current and retiring')).action(
    async ({ json }: Options) =>
      withServer(async ({ keys }) => {
        const listed = keys.keys().map((key) => keyToWire(keys, key))
        print(listed, listed.map(toLine), json)
      }),
  )
  withJson(
    command
      .command('rotate')
      .description('publish new keys; they sign once everybody has had time to fetch them')
      .option('--algorithm <alg>', 'only the key of this algorithm'),
  ).action(async ({ json, algorithm }: Options) =>
    withServer(async ({ keys }) => {
      const rotated: KeyOnWire[] = []
      for (const one of chosen(keys, algorithm)) rotated.push(keyToWire(keys, await keys.rotate(one)))
      print(algorithm === undefined ? rotated : rotated[0], rotated.map(toLine), json)
    }),
  )
  withJson(
    command
      .command('revoke <kid>')
      .description('end a key that others have, with all that it signed; without --yes it says what that is')
      .option('--yes', 'do it')
      // One kid in 64 begins with a hyphen.
      .allowUnknownOption(),
  ).action(async (kid: string, { json, yes }: Options) =>
    withServer(async ({ keys, config }) => {
      if (!yes) throw new ConfigError(await explain(keys, kid, config.OIDC_KEY_PUBLISH))
      const revoked = keyToWire(keys, await keys.revoke(kid))
      print(revoked, [toLine(revoked)], json)
    }),
  )
  return command
}

async function explain(keys: Kernel['keys'], kid: string, publishFor: number): Promise<string> {
  const key = keys.find(kid)
  if (key === undefined) throw metadataError('kid', 'is not that of a published key')
  const ends = await whatRevokingEnds(keys, key, publishFor)
  return [
    `key revoke ends ${kid} (${key.algorithm}) for good.`,
    ...ends.map(inEnglish),
    'To do it, add --yes.',
  ].join('\n')
}

/** The algorithm that was named, or all that have a key. */
function chosen(keys: Kernel['keys'], algorithm: string | undefined): Iterable<string> {
  if (algorithm === undefined) return new Set(keys.keys().map((key) => key.algorithm))
  if (keys.algorithms.includes(algorithm)) return [algorithm]
  throw new ConfigError(`--algorithm must be one of ${keys.algorithms.join(', ')}.`)
}

function toLine({ kid, alg, state, store, signs_from: from, retires_at: until }: KeyOnWire): string {
  const place = store === DATABASE ? '' : `  in ${store}`
  return `${kid}  ${alg}  ${state.padEnd(8)}  signs from ${from}${until === null ? '' : `  until ${until}`}${place}`
}
