/** `distribute`: the tables that grow with each sign-in, over several PostgreSQL servers and back; what that would be, and what it is. */
import { Command } from 'commander'
import { text } from 'node:stream/consumers'
import { ConfigError } from '../config.ts'
import { distributeByCitus, gatherFromCitus, nodesOf } from '../store/distribution/citus.ts'
import { engineOn } from '../store/distribution/engine.ts'
import { pagesEverywhere } from '../store/distribution/everywhere.ts'
import { distribute, gather } from '../store/distribution/foreign.ts'
import type { Shard } from '../store/distribution/shards.ts'
import { survey } from '../store/distribution/survey.ts'
import type { Prepared, Survey, SurveyedServer } from '../store/distribution/surveyed.ts'
import { withClient, type Place } from '../store/connections.ts'
import { withJson } from './json-option.ts'
import { readSettings } from '../settings/read-settings.ts'
import { print } from './run.ts'
import { assertTables } from './tables.ts'

interface Options {
  json?: boolean
  yes?: boolean
  engine: string
  server?: string[]
  serversStdin?: boolean
}

/** One server is what there was before. */
const LEAST = 2
const MOST = 64

export function distributeCommand(): Command {
  const command = new Command('distribute').description(
    'the tables of tokens, over several PostgreSQL servers and back',
  )
  withJson(command.command('status').description('where the tables lie, how large they are, and which server answers')).action(
    async ({ json }: Options) => {
      const found = await survey(await placeHere())
      print(found, toLines(found), json)
    },
  )
  withServers(
    command.command('plan').description('what `apply` would move, and whether the servers can take it; changes nothing'),
  ).action(async (options: Options) => plan(options))
  withServers(
    command
      .command('apply')
      .description('moves the tables to the servers; without --yes it says what that is')
      .option('--yes', 'do it'),
  ).action(async (options: Options) => (options.yes === true ? apply(options) : plan(options)))
  withJson(
    command
      .command('back')
      .description('moves the tables back to the one server; without --yes it says what that is')
      .option('--yes', 'do it'),
  ).action(back)
  return command
} // prettier-ignore

function withServers(command: Command): Command {
  return withJson(command)
    .option('--engine <name>', 'fdw: partitions on other servers, by postgres_fdw; citus: on the nodes that Citus knows', 'fdw')
    .option('--server <url>', 'connection string of a database for a share; once for each', (url: string, all: string[] | undefined) => [...(all ?? []), url])
    .option('--servers-stdin', 'the connection strings from stdin, one a line, so that no list of processes shows them')
} // prettier-ignore

async function placeHere(): Promise<Place> {
  const config = readSettings(process.env)
  if (config.DATABASE_URL === undefined)
    throw new ConfigError('distribute needs DATABASE_URL: the embedded PostgreSQL is for one machine.')
  await assertTables(config, false)
  return { url: config.DATABASE_URL, schema: config.DATABASE_SCHEMA }
}

/** Null for the nodes that Citus knows. */
async function targetsIn({ engine, server = [], serversStdin }: Options): Promise<Shard[] | null> {
  if (engine === 'citus') {
    if (server.length > 0 || serversStdin === true)
      throw new ConfigError('Citus knows its nodes: leave out --server, and name them to it by citus_add_node.')
    return null
  }
  if (engine !== 'fdw') throw new ConfigError(`--engine must be fdw or citus; it is ${engine.slice(0, 80)}.`)
  const typed = serversStdin === true ? (await text(process.stdin)).split('\n') : server
  const urls = typed.map((one) => one.trim()).filter((one) => one !== '')
  if (urls.length < LEAST || urls.length > MOST)
    throw new ConfigError(`Name ${LEAST} to ${MOST} databases by --server, or by --servers-stdin.`)
  if (urls.some((url) => !(/^postgres(?:ql)?:/.test(url) && URL.canParse(url))))
    throw new ConfigError('Each server is a URL that begins with postgresql://.')
  if (new Set(urls.map((url) => new URL(url).host + new URL(url).pathname + new URL(url).search)).size < urls.length)
    throw new ConfigError('Two of the servers are the same database.')
  return urls.map((url, at) => ({ number: at + 1, url }))
} // prettier-ignore

async function plan(options: Options): Promise<void> {
  const targets = await targetsIn(options)
  const place = await placeHere()
  const here = await survey(place)
  if (here.engine !== null) throw new ConfigError(ALREADY)
  const count = targets?.length ?? (await withClient(place, async (client) => nodesOf(client))).length
  const lines = [
    ...toLines(here),
    `Each row goes to one of ${count} servers, by the id of its Authorization; all else stays where it is.`,
    'Nobody gets or uses a token while they move.',
    'Restart the servers afterwards. `distribute back` undoes it while one server can hold it all.',
    'To do it, `distribute apply` with --yes.',
  ]
  print({ ...here, shards: count }, lines, options.json)
}

const ALREADY = 'The tables are distributed already: see `distribute status`; `distribute back` comes first.'

async function apply(options: Options): Promise<void> {
  const targets = await targetsIn(options)
  const place = await placeHere()
  await withClient(place, async (client) => {
    if ((await engineOn(client, place.schema)) !== null) throw new ConfigError(ALREADY)
    await (targets === null
      ? distributeByCitus(client, place.schema)
      : distribute(client, targets, place.schema))
  })
  const found = await survey(place)
  print(found, [...toLines(found), 'Restart the servers, so that each knows.'], options.json)
}

async function back({ yes, json }: Options): Promise<void> {
  const place = await placeHere()
  const before = await survey(place)
  if (before.engine === null) throw new ConfigError('The tables are not distributed.')
  if (yes !== true)
    throw new ConfigError(
      [...toLines(before), 'All of it comes back to the one server. To do it, add --yes.'].join('\n'),
    )
  await withClient(place, async (client) =>
    before.engine === 'citus' ? gatherFromCitus(client, place.schema) : gather(client, place.schema),
  )
  const found = await survey(place)
  print(found, [...toLines(found), 'Restart the servers, so that each knows.'], json)
}

function toLines({ engine, here, servers }: Survey): string[] {
  if (engine === null) return ['All tables lie on one server.', ...servers.flatMap(linesOf)]
  const pages = pagesEverywhere(readSettings(process.env).WITHOUT)
  return [
    `Distributed by ${engine === 'citus' ? 'Citus' : 'postgres_fdw'} over ${servers.length} servers.`,
    ...servers.flatMap(linesOf),
    'All else lies on this server.',
    ...waitingOn(here),
    ...(pages.length > 0 ? [`Each of these pages asks all of them: ${pages.join(', ')}.`] : []),
  ]
}

function linesOf({ server, tables, problem, ...prepared }: SurveyedServer): string[] {
  if (problem !== null) return [`${server}: does not answer (${problem})`]
  return [
    `${server}:`,
    ...tables.map(
      ({ table, rows, bytes }) =>
        `  ${table}: ${rows === null ? 'rows not counted yet' : `about ${rows} rows`}, ${Math.ceil(bytes / 1_048_576)} MiB`,
    ),
    ...waitingOn(prepared),
  ]
} // prettier-ignore

function waitingOn({ prepared, oldest }: Prepared): string[] {
  if (prepared === 0) return []
  return [`  ${prepared} transactions are prepared there and wait for their end, the oldest for ${Math.round(oldest)} s`]
} // prettier-ignore
