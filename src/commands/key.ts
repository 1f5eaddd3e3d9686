/** `key list` and `key rotate`. */
import { Command } from 'commander'
import type { OAuth } from '../../plugins/oauth.ts'
import { ConfigError } from '../config.ts'
import type { RingKey } from '../services/keys/ring-key.ts'
import { withJson } from './json-option.ts'
import { print, withServer } from './run.ts'

interface Options {
  json?: boolean
  algorithm?: string
}

export function keyCommand(): Command {
  const command = new Command('key').description('signing keys')
  withJson(command.command('list').description('published keys: next, current and retiring')).action(
    async ({ json }: Options) =>
      withServer(async ({ keys }) => {
        const listed = keys.keys().map((key) => describe(keys, key))
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
      const rotated: Described[] = []
      for (const one of chosen(keys, algorithm)) rotated.push(describe(keys, await keys.rotate(one)))
      print(algorithm === undefined ? rotated : rotated[0], rotated.map(toLine), json)
    }),
  )
  return command
}

/** The algorithm that was named, or all that have a key. */
function chosen(keys: OAuth['keys'], algorithm: string | undefined): Iterable<string> {
  if (algorithm === undefined) return new Set(keys.keys().map((key) => key.algorithm))
  if (keys.algorithms.includes(algorithm)) return [algorithm]
  throw new ConfigError(`--algorithm must be one of ${keys.algorithms.join(', ')}.`)
}

type Described = ReturnType<typeof describe>

function describe(keys: OAuth['keys'], key: RingKey) {
  const instant = (time: number | null): string | null =>
    time === null ? null : new Date(time).toISOString()
  return {
    kid: key.kid,
    alg: key.algorithm,
    state: keys.stateOf(key),
    created_at: instant(key.createdAt),
    signs_from: instant(key.signsFrom),
    retires_at: instant(key.retiresAt),
  }
}

function toLine({ kid, alg, state, signs_from: from, retires_at: until }: Described): string {
  return `${kid}  ${alg}  ${state.padEnd(8)}  signs from ${from}${until === null ? '' : `  until ${until}`}`
}
