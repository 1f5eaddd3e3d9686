/** A server of Citus for the tests, and databases of one name on several of them that know each other. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chooseAccount, identity } from '../../src/services/database/embedded-postgres/account.ts'
import { execute, withDatabase } from './connection.ts'
import { freePort } from './settings.ts'

export interface CitusNode {
  url: string
  port: number
  start(): Promise<void>
  /** SIGINT is an orderly end; SIGQUIT leaves everything as a crash does. */
  stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>
}

/** Makes the database of `url`, of the first node, one of Citus; it is there on all of them. */
export async function acquaint(
  [front, ...nodes]: readonly Pick<CitusNode, 'url' | 'port'>[],
  url: string,
): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  for (const node of [front!, ...nodes]) await execute(withDatabase(node.url, name), 'create extension citus')
  await execute(url, `select citus_set_coordinator_host('127.0.0.1', ${front!.port})`)
  for (const { port } of nodes) await execute(url, `select citus_add_node('127.0.0.1', ${port})`)
}

/** Citus has a process of its own at each database, and nobody clones one that is in use. */
export async function closeToAll(servers: readonly string[], name: string): Promise<void> {
  for (const url of servers) {
    await execute(url, `alter database ${name} allow_connections false`)
    await execute(url, 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  }
}

/** Of the build whose programs are in `bin`, in a directory of its own. */
export async function startNode(bin: string, directory: string): Promise<CitusNode> {
  const account = await chooseAccount()
  const as = { ...identity(account), cwd: directory, env: { HOME: directory, PATH: process.env['PATH'] } }
  if (account.uid !== undefined) await chown(directory, account.uid, account.gid!)
  const data = join(directory, 'data')
  const made = ['-U', 'postgres', '-A', 'trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  execFileSync(join(bin, 'initdb'), ['-D', data, ...made], { ...as, stdio: 'pipe' })
  const port = await freePort()
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'shared_preload_libraries=citus',
    'citus.node_conninfo=sslmode=disable',
    'citus.shard_count=8',
    'max_prepared_transactions=100',
    'max_connections=300',
    'max_worker_processes=64',
  ]
  const url = `postgresql://postgres@127.0.0.1:${port}/postgres`
  let child: ChildProcess | undefined
  const node: CitusNode = {
    url,
    port,
    async start() {
      const options = settings.flatMap((one) => ['-c', one])
      child = spawn(join(bin, 'postgres'), ['-D', data, ...options], { ...as, stdio: 'ignore' })
      await answering(url, child)
    },
    async stop(signal) {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
    },
  }
  await node.start()
  return node
}

/** Milliseconds in which one answers that has just been started. */
const STARTING = 60_000

/** Also where no test runs yet. */
async function answering(url: string, child: ChildProcess): Promise<void> {
  for (const deadline = Date.now() + STARTING; ; await sleep(50)) {
    if (child.exitCode !== null)
      throw new Error(`PostgreSQL with Citus ended at once, with ${child.exitCode}.`)
    try {
      await execute(url, 'select 1')
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
  }
}
