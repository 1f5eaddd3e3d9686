/**
 * Three servers of Citus, one in front and two that hold shares: of the build whose programs' folder CITUS_BIN names. Where it names none,
 * what needs them is skipped (`noCitus`), and the run says so.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import { Pool, type QueryResultRow } from 'pg'
import { chooseAccount, identity } from '../../src/services/database/embedded-postgres/account.ts'
import { migrate } from '../../src/store/migrate.ts'
import { atEndOfFile, temporaryDirectory } from './cleanup.ts'
import { ASIDE, execute } from './connection.ts'
import type { TestDatabase } from './database.ts'
import { freePort } from './settings.ts'
import { until } from './until.ts'

const bin = process.env['CITUS_BIN']

if (bin === undefined)
  process.stderr.write(
    '\n!!! SKIPPED: CITUS_BIN names no build of PostgreSQL with Citus, so nothing runs on Citus: see CONTRIBUTING.md.\n\n',
  )

/** For `describe.skipIf`. */
export const noCitus = bin === undefined

export interface CitusNode {
  url: string
  port: number
  start(): Promise<void>
  /** SIGINT is an orderly end; SIGQUIT leaves everything as a crash does. */
  stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>
}

export interface Citus {
  front: CitusNode
  nodes: CitusNode[]
  /** Migrated, and not distributed yet. */
  database: TestDatabase
}

export async function startCitus(): Promise<Citus> {
  const [front, ...nodes] = await Promise.all([startNode(), startNode(), startNode()])
  for (const { url } of [front, ...nodes]) await execute(url, 'create extension citus')
  await execute(front.url, `select citus_set_coordinator_host('127.0.0.1', ${front.port})`)
  for (const { port } of nodes) await execute(front.url, `select citus_add_node('127.0.0.1', ${port})`)
  await migrate(front.url)
  const pool = new Pool({ connectionString: front.url, max: 2, allowExitOnIdle: true, ...ASIDE })
  pool.on('error', () => {})
  const drop = atEndOfFile(async () => pool.end())
  const query: TestDatabase['query'] = async <Row extends QueryResultRow>(
    text: string,
    values: unknown[] = [],
  ) => (await pool.query<Row>(text, values)).rows
  return { front, nodes, database: { url: front.url, query, drop } }
}

async function startNode(): Promise<CitusNode> {
  const directory = await temporaryDirectory()
  const account = await chooseAccount()
  const as = { ...identity(account), cwd: directory, env: { HOME: directory, PATH: process.env['PATH'] } }
  if (account.uid !== undefined) await chown(directory, account.uid, account.gid!)
  const data = join(directory, 'data')
  const made = ['-U', 'postgres', '-A', 'trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  execFileSync(join(bin!, 'initdb'), ['-D', data, ...made], { ...as, stdio: 'pipe' })
  const port = await freePort()
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'shared_preload_libraries=citus',
    'citus.node_conninfo=sslmode=disable',
    'citus.shard_count=8',
    'max_prepared_transactions=100',
    'max_connections=100',
  ]
  const url = `postgresql://postgres@127.0.0.1:${port}/postgres`
  let child: ChildProcess | undefined
  const node: CitusNode = {
    url,
    port,
    async start() {
      const options = settings.flatMap((one) => ['-c', one])
      child = spawn(join(bin!, 'postgres'), ['-D', data, ...options], { ...as, stdio: 'ignore' })
      await until(async () => execute(url, 'select 1'))
    },
    async stop(signal) {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
    },
  }
  atEndOfFile(async () => node.stop('SIGQUIT'))
  await node.start()
  return node
}
