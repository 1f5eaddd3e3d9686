/** The command `distribute`: it says what it would do, does it when it is told to, and refuses what would go wrong. */
import { expect, test } from 'vitest'
import { execute } from '../support/connection.ts'
import { runCommandHere } from '../support/command-here.ts'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { startServer } from '../support/server.ts'
import { codesOf, exchangeAs, lifeOf, ALIVE } from '../support/code-flow.ts'
import { toClient } from '../support/service.ts'
import { SEED, WEB } from '../support/sign-in.ts'

const settingsOf = ({ url }: { url: string }) => ({ DATABASE_URL: url, SECRET_KEY: 'k'.repeat(43) })
const json = (stdout: string) =>
  JSON.parse(stdout) as {
    engine: string | null
    servers: { problem: string | null; tables: { table: string; rows: number | null }[] }[]
  }

test('there and back, with a server beside it whose tokens stay good', async () => {
  const server = await startServer({}, { seed: SEED })
  const web = toClient(WEB)
  const { tokens } = await exchangeAs(server, web, await codesOf(server)())
  const settings = { ...settingsOf(server.database), SECRET_KEY: server.settings['SECRET_KEY'] }
  const run = async (...args: string[]) => runCommandHere(['distribute', ...args], settings)
  const [one, two] = [await createEmptyDatabase(), await createEmptyDatabase()]
  const servers = ['--server', one.url, '--server', two.url]

  const planned = await run('plan', ...servers)
  expect([planned.status, planned.stderr]).toEqual([0, ''])
  expect(planned.stdout).toContain('Each row goes to one of 2 servers')
  const unsure = await run('apply', ...servers, '--json')
  expect([unsure.status, json(unsure.stdout).engine]).toEqual([0, null])

  const applied = await run('apply', ...servers, '--yes', '--json')
  expect([applied.status, json(applied.stdout)]).toMatchObject([
    0,
    { engine: 'fdw', servers: [{ problem: null }, { problem: null }] },
  ])
  // A process that has not been restarted goes on, too.
  const alive = await lifeOf(server, web, tokens)
  expect(alive).toEqual(ALIVE)
  expect(await run('apply', ...servers, '--yes')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('distributed already') as string,
  })
  const status = await run('status')
  expect(status.stdout).toContain('Distributed by postgres_fdw over 2 servers.')
  // Nobody has counted what was moved just now.
  expect(new Set(json(applied.stdout).servers[0]!.tables.map(({ rows }) => rows))).toEqual(new Set([null]))
  expect(status.stdout).toMatch(/refresh_tokens: rows not counted yet, \d+ MiB\n/)
  await execute(one.url, 'analyze')
  await execute(two.url, 'analyze')
  const counted = (await run('status')).stdout
  expect(counted).toMatch(/refresh_tokens: about 1 rows, \d+ MiB\n/)
  expect(counted).not.toContain('not counted')
  // Neither name nor password of who connects.
  expect(status.stdout).not.toContain('postgres@')
  const doctor = await runCommandHere(['doctor'], settings)
  expect(doctor.stdout).toContain('distribution: Tokens lie on 2 servers, and each answers.')

  expect(await run('back')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('add --yes') as string,
  })
  const back = await run('back', '--yes', '--json')
  expect([back.status, json(back.stdout).engine]).toEqual([0, null])
  expect(await run('back', '--yes')).toMatchObject({ status: 1, stderr: 'The tables are not distributed.\n' })
  expect((await server.get('/readyz')).status).toBe(200)
})

test('a server that is away is named, by status and by doctor', async () => {
  const database = await createDatabase({ distributed: true })
  await database.query(`alter server latchkey_shard_2 options (set dbname 'gone_for_good')`)
  const { stdout } = await runCommandHere(['distribute', 'status'], settingsOf(database))
  expect(stdout).toMatch(/shard 2 \(.*gone_for_good\): does not answer \(3D000\)/)
  const doctor = await runCommandHere(['doctor'], settingsOf(database))
  expect(doctor.stdout).toMatch(/fail {2}distribution: shard 2 \(.*\) does not answer \(3D000\)/)
})

const ONE = 'postgresql://one@db/one'
test.each([
  ['no server', [], 'Name 2 to 64 databases by --server, or by --servers-stdin.'],
  ['one server', ['--server', ONE], 'Name 2 to 64 databases by --server, or by --servers-stdin.'],
  [
    'what is no URL',
    ['--server', ONE, '--server', 'two'],
    'Each server is a URL that begins with postgresql://.',
  ],
  [
    'one twice',
    ['--server', ONE, '--server', ONE.replace('one@', 'other:pass@')],
    'Two of the servers are the same database.',
  ],
  [
    'another engine',
    ['--engine', 'pgpool', '--server', ONE, '--server', 'postgresql://two/two'],
    '--engine must be fdw or citus; it is pgpool.',
  ],
])('%s is refused', async (_what, args, sentence) => {
  for (const word of ['plan', 'apply']) {
    const { status, stderr } = await runCommandHere(['distribute', word, ...args], settingsOf({ url: ONE }))
    expect([status, stderr]).toEqual([1, `${sentence}\n`])
  }
})

test('without Citus, nothing is given to it', async () => {
  const database = await createDatabase({ distributed: false })
  for (const args of [['plan'], ['apply', '--yes']]) {
    const { status, stderr } = await runCommandHere(
      ['distribute', ...args, '--engine', 'citus'],
      settingsOf(database),
    )
    expect([status, stderr]).toEqual([
      1,
      'The database has no Citus: run `create extension citus` on it and on each node, as its superuser.\n',
    ])
  }
  const { stderr } = await runCommandHere(
    ['distribute', 'plan', '--engine', 'citus', '--server', ONE],
    settingsOf(database),
  )
  expect(stderr).toBe('Citus knows its nodes: leave out --server, and name them to it by citus_add_node.\n')
})

test('the embedded PostgreSQL is not distributed', async () => {
  const { status, stderr } = await runCommandHere(['distribute', 'status'], {})
  expect([status, stderr]).toEqual([
    1,
    'distribute needs DATABASE_URL: the embedded PostgreSQL is for one machine.\n',
  ])
})
