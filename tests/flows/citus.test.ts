/** The tokens of a server on Citus, where CITUS_BIN names a build: what it refuses, the command, races, batches and the janitor, and nodes that break. */
import pg from 'pg'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { distributeByCitus } from '../../src/store/distribution/citus.ts'
import { statements as authorizations } from '../../src/store/authorizations.ts'
import { statements as codes } from '../../src/store/authorization-codes.ts'
import { tableOf, textOn, type Statement } from '../../src/store/statement.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { type Citus, noCitus, startCitus } from '../support/citus.ts'
import { RULES } from '../support/citus-forms.ts'
import { ALIVE, codesOf, exchangeAs, lifeOf } from '../support/code-flow.ts'
import { runCommandHere } from '../support/command-here.ts'
import { execute } from '../support/connection.ts'
import { fillForHot, HOT } from '../support/hot-statements.ts'
import { breakInTurn, testRaces } from '../support/distributed-part.ts'
import { startServer } from '../support/server.ts'
import { toClient } from '../support/service.ts'
import { SEED, WEB } from '../support/sign-in.ts'
import { setStage } from '../support/stage.ts'

const STORE = resolve(import.meta.dirname, '../../src/store')
const SECRET_KEY = 'k'.repeat(43)
const NAMES = /"(?:authorizations|authorization_codes|refresh_tokens|access_tokens)"/
const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
/** A value of each type that a parameter has. */
const VALUES: Readonly<Record<string, string>> = {
  uuid: `'00000000-0000-4000-8000-000000000001'`,
  text: `'00000000-0000-4000-8000-000000000002'`,
  jsonb: `'{}'`,
  integer: '5',
  bigint: '5',
  'text[]': `'{x}'`,
  'uuid[]': `'{00000000-0000-4000-8000-000000000001}'`,
  'double precision': '60',
  'timestamp with time zone': `'2030-01-01'`,
  'timestamp with time zone[]': `'{2030-01-01}'`,
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  // The one in front is stopped, too.
  client.on('error', () => {})
  await client.connect()
  atEndOfFile(async () => client.end())
  return client
}

async function distributed(): Promise<Citus> {
  const citus = await startCitus()
  await distributeByCitus(await connected(citus.front.url))
  return citus
}

async function asking(): Promise<Statement<unknown>[]> {
  const files = (await readdir(STORE)).filter((file) => file.endsWith('.ts'))
  const modules = await Promise.all(
    files.map(async (file) => import(join(STORE, file)) as Promise<{ statements?: object }>),
  )
  const all = modules.flatMap(({ statements = {} }) => Object.values(statements) as Statement<unknown>[])
  return all.filter(({ build, onOneServer }) => onOneServer !== true && NAMES.test(build(tableOf())))
}

/** What became of it; nothing stays. */
async function outcomeOf(client: pg.Client, statement: Statement<unknown>): Promise<string> {
  await client.query('deallocate all')
  await client.query(`prepare one as ${textOn('citus', statement, tableOf())}`)
  const { rows } = await client.query<{ types: string[] }>(
    'select parameter_types::text[] as types from pg_prepared_statements',
  )
  // What ends all of a user's is given no session.
  const [isAll, given] = [statement.name === 'authorizations-end', rows[0]!.types]
  const values = given.map((type, at) => (isAll && at === 1 ? 'null' : VALUES[type]!))
  await client.query('begin')
  try {
    await client.query(`execute one${values.length === 0 ? '' : `(${values.join(', ')})`}`)
    return 'runs'
  } catch (error) {
    return (error as Error).message
  } finally {
    await client.query('rollback')
  }
}

describe.skipIf(noCitus)('on Citus', async () => {
  if (noCitus) return
  const citus = await distributed()
  const client = await connected(citus.front.url)
  await fillForHot(citus.database)

  test('every statement runs in the form that it has there', async () => {
    const found = []
    for (const one of await asking()) found.push([one.name, await outcomeOf(client, one)])
    expect(found.filter(([, outcome]) => outcome !== 'runs')).toEqual([])
  })

  test.each(RULES.filter(({ isRefused }) => isRefused))('it refuses $says', async ({ example }) => {
    await expect(client.query(example)).rejects.toMatchObject({ code: '0A000' })
  })

  const SHARD = /\b(?:authorizations|authorization_codes|refresh_tokens|access_tokens)_(\d+)\b/g
  const shards = await citus.database.query<{ id: string; place: string }>(
    'select shardid as id, shardminvalue as place from pg_dist_shard',
  )
  const placeOf = new Map(shards.map(({ id, place }) => [id, place]))
  const placesIn = (texts: readonly string[]): string[] => [
    ...new Set(texts.flatMap((text) => [...text.matchAll(SHARD)].map(([, id]) => placeOf.get(id!)!))),
  ]

  test.each(HOT)('the plan of $0.name names no second shard', async (statement, values) => {
    const text = `explain (verbose) ${textOn('citus', statement, tableOf())}`
    const { rows } = await client.query<{ 'QUERY PLAN': string }>({ text, values: [...values] })
    const plan = rows.map((row) => row['QUERY PLAN'])
    const tasks = plan.flatMap((line) => /Task Count: (\d+)/.exec(line)?.[1] ?? [])
    // What is inserted for a row of the one in front is placed when it is run.
    const isPlaced = plan.some((line) => line.includes('INSERT/SELECT method: pull to coordinator'))
    expect([tasks, placesIn(plan).length]).toEqual(
      isPlaced ? [[], 0] : [['1'], plan.some((line) => line.includes('latchkey_')) ? 0 : 1],
    )
  })

  test.each(HOT)('$0.name is sent to one shard when it is run', async (statement, values) => {
    const notices: string[] = []
    const listen = ({ message = '' }: { message?: string | undefined }): void => void notices.push(message)
    await client.query('set citus.log_remote_commands = on')
    client.on('notice', listen)
    await client.query('begin')
    try {
      const { rowCount } = await client.query({
        text: textOn('citus', statement, tableOf()),
        values: [...values],
      })
      // A consent that is not there lets nothing be written.
      const expected = statement === authorizations.insertConsented ? [0, 0] : [1, 1]
      expect([rowCount, placesIn(notices).length]).toEqual(expected)
    } finally {
      await client.query('rollback')
      client.off('notice', listen)
      await client.query('reset citus.log_remote_commands')
    }
  })

  test('the plan of one that asks every node names each shard', async () => {
    const text = `explain (verbose) ${textOn('citus', authorizations.listByUser, tableOf())}`
    await client.query('set citus.explain_all_tasks = on')
    const { rows } = await client.query<{ 'QUERY PLAN': string }>({ text, values: ['one', null, 10] })
    await client.query('reset citus.explain_all_tasks')
    expect(placesIn(rows.map((row) => row['QUERY PLAN'])).toSorted()).toEqual(
      [...new Set(placeOf.values())].toSorted(),
    )
  })

  test('an exchange goes to one node as one command, and is committed there', async () => {
    const notices: string[] = []
    const listen = ({ message = '' }: { message?: string | undefined }): void => void notices.push(message)
    client.on('notice', listen)
    await client.query(`set citus.log_remote_commands = on`)
    const values = codes.exchange.values({
      id: '00000000-0000-4000-8000-000000000009', code: 'none', clientId: 'web', subject: 'x', scopes: [], resources: [],
      parameters: {}, refreshLifetime: 60,
    }) // prettier-ignore
    await client.query({ text: textOn('citus', codes.exchange, tableOf()), values })
    await client.query('reset citus.log_remote_commands')
    client.off('notice', listen)
    const sent = notices.filter((one) => one.startsWith('issuing'))
    expect(sent.filter((one) => one.includes('latchkey_exchange'))).toHaveLength(1)
    expect(sent.filter((one) => /PREPARE TRANSACTION|COPY/.test(one))).toEqual([])
  })

  await testRaces(citus.database)
})

describe.skipIf(noCitus)('the command, and nodes that break', async () => {
  if (noCitus) return
  const { front, nodes, database } = await startCitus()

  test('there and back, with a server beside it whose tokens stay good', async () => {
    const server = await startServer({ SECRET_KEY }, { database, seed: { ...SEED, clients: [WEB, opaque] } })
    const getCode = codesOf(server)
    const held = async (client = WEB) =>
      (await exchangeAs(server, toClient(client), await getCode({ client_id: client.client_id }))).tokens
    const [before, beforeOpaque] = [await held(), await held(opaque)]
    const run = async (...args: string[]) =>
      runCommandHere(['distribute', ...args], { DATABASE_URL: front.url, SECRET_KEY })
    expect((await run('plan', '--engine', 'citus')).stdout).toContain('Each row goes to one of 2 servers')
    expect((await run('apply', '--engine', 'citus', '--server', front.url)).stderr).toBe(
      'Citus knows its nodes: leave out --server, and name them to it by citus_add_node.\n',
    )
    expect((await run('apply', '--engine', 'citus', '--yes')).stdout).toContain('Distributed by Citus over 2 servers.')
    expect((await run('apply', '--engine', 'citus', '--yes')).stderr).toContain('distributed already')
    expect(await lifeOf(server, toClient(WEB), before)).toEqual(ALIVE)
    const { PORT: _port, ...shared } = server.settings
    const again = await startServer(shared, { database })
    expect(await lifeOf(again, toClient(opaque), beforeOpaque)).toEqual(ALIVE)
    const status = await run('status')
    expect(status.stdout.match(/^node 127\.0\.0\.1:\d+:$/gm)).toHaveLength(2)
    await nodes[1]!.stop('SIGINT')
    expect((await run('status')).stdout).toMatch(new RegExp(`node 127\\.0\\.0\\.1:${nodes[1]!.port}: does not answer`))
    await nodes[1]!.start()
    expect((await run('back', '--yes')).stdout).toContain('All tables lie on one server.')
    expect(await execute(front.url, `select proname from pg_proc where proname like 'latchkey%'`)).toEqual([])
    await again.close()
    const last = await held()
    expect(await lifeOf(server, toClient(WEB), last)).toEqual(ALIVE)
    await server.close()
  }) // prettier-ignore

  test('a node is restarted under load four times, and the one in front once', async () => {
    await execute(front.url, 'truncate authorizations, authorization_codes, refresh_tokens, access_tokens')
    await distributeByCitus(await connected(front.url))
    const stage = await setStage(front.url, { database, settings: { SECRET_KEY } })
    const recover = async (): Promise<void> =>
      void (await execute(front.url, 'select recover_prepared_transactions()'))
    await breakInTurn(
      stage,
      front,
      [
        [nodes[0]!, 'SIGINT'],
        [nodes[1]!, 'SIGQUIT'],
        [front, 'SIGQUIT'],
        [nodes[0]!, 'SIGQUIT'],
        [nodes[1]!, 'SIGINT'],
      ],
      recover,
    )
    for (const { url } of nodes) expect(await execute(url, 'select gid from pg_prepared_xacts')).toEqual([])
    await stage.close()
  })
})
