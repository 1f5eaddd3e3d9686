// Owns one node of Citus for a run: a PostgreSQL of a build that brings it, durable as it comes, on the other core.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { chooseAccount, identity } from '../src/services/database/embedded-postgres/account.ts'
import { otherCore, pinFamily } from './pinning.ts'
import { freePort } from './server-process.ts'

export interface CitusNode {
  readonly url: string
  readonly port: number
  readonly postmasterPid: number | undefined
  readonly stop: () => Promise<void>
}

/** Milliseconds that a node may take to answer. */
const STARTING = 60_000

export async function startNode(bin: string): Promise<CitusNode> {
  const directory = await mkdtemp(join(tmpdir(), 'latchkey-citus-'))
  const account = await chooseAccount()
  if (account.uid !== undefined) await chown(directory, account.uid, account.gid!)
  const as = { ...identity(account), cwd: directory, env: { HOME: directory, PATH: process.env['PATH'] } }
  const data = join(directory, 'data')
  const made = ['-D', data, '-U', 'postgres', '-A', 'trust', '--encoding=UTF8', '--locale=C']
  execFileSync(join(bin, 'initdb'), made, { ...as, stdio: 'pipe' })
  const port = await freePort()
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'shared_preload_libraries=citus',
    'citus.node_conninfo=sslmode=disable',
    'max_prepared_transactions=200',
    'max_connections=200',
  ]
  const args = ['-D', data, ...settings.flatMap((one) => ['-c', one])]
  const child = spawn(join(bin, 'postgres'), args, { ...as, stdio: 'ignore' })
  const url = `postgresql://postgres@127.0.0.1:${port}/postgres`
  await untilAnswered(url, child)
  if (child.pid !== undefined) pinFamily(child.pid, otherCore)
  return {
    url,
    port,
    postmasterPid: child.pid,
    async stop() {
      const ended = once(child, 'exit')
      if (child.exitCode === null && child.kill('SIGINT')) await ended
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function untilAnswered(url: string, child: ChildProcess): Promise<void> {
  for (const deadline = Date.now() + STARTING; ; await sleep(100)) {
    if (child.exitCode !== null) throw new Error(`A node of Citus ended at once, with ${child.exitCode}.`)
    const client = new Client({ connectionString: url })
    try {
      await client.connect()
      await client.end()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
  }
}
