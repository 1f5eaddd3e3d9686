/**
 * A PostgreSQL of a test's own, to be stopped, killed, copied and promoted: the embedded binaries, without what guards
 * them for a server. It makes sure of every commit, as production does.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  chooseAccount,
  environment,
  identity,
  run,
} from '../../src/services/database/embedded-postgres/account.ts'
import { readyBinaries } from '../../src/services/database/embedded-postgres/binaries.ts'
import { createCluster } from '../../src/services/database/embedded-postgres/cluster.ts'
import { choosePlace, type Place } from '../../src/services/database/embedded-postgres/place.ts'
import { migrate } from '../../src/store/migrate.ts'
import { atEndOfFile } from './cleanup.ts'
import { execute } from './connection.ts'
import { onceInRun } from './once-in-run.ts'
import { SERIALIZABLE } from './serializable.ts'
import { until } from './until.ts'

const isolation: Record<string, string> = SERIALIZABLE
  ? { default_transaction_isolation: 'serializable' }
  : {}

export interface OwnPostgres {
  /** Of the database `postgres`. */
  url: string
  socketDir: string
  /** `port` is one of these, where it is not PostgreSQL's own. */
  start(settings?: Readonly<Record<string, string>>): Promise<void>
  /** SIGINT is an orderly end; SIGQUIT leaves everything as a crash does. */
  stop(signal?: 'SIGINT' | 'SIGQUIT'): Promise<void>
  isRunning(): boolean
  /** Its files, as they are now, for another one. */
  copyTo(other: OwnPostgres): Promise<void>
  /** As the account that the files belong to. */
  sh(script: string, ...args: string[]): Promise<void>
  cluster: string
}

/**
 * What it begins with: nothing, where it gets a copy of another; what PostgreSQL makes of it anew, by which servers tell it from others; a
 * copy of that; or one with our tables, too. Copies are of one that is made once in a run, which spares a second or two.
 */
export type Beginning = 'nothing' | 'anew' | 'bare' | 'migrated'

/** In `directory`; not started yet. */
export async function createOwnPostgres(
  directory: string,
  { begins = 'bare' }: { begins?: Beginning } = {},
): Promise<OwnPostgres> {
  const account = await chooseAccount()
  const place = await choosePlace(directory, account)
  const binaries = await readyBinaries(place)
  if (begins === 'anew') await createCluster(place, binaries)
  const own = await inPlace(directory, place, binaries.postgres)
  if (begins === 'bare' || begins === 'migrated')
    await own.sh('cp -Rp "$1" "$2"', await clusterOnce(begins), own.cluster)
  return own
}

/** The path of its files. */
async function clusterOnce(kind: 'bare' | 'migrated'): Promise<string> {
  return onceInRun(`cluster-${kind}`, async (directory) => {
    const own = await createOwnPostgres(directory, { begins: kind === 'bare' ? 'anew' : 'bare' })
    if (kind === 'migrated') {
      await own.start({ fsync: 'off' })
      await migrate(own.url)
      await own.stop()
    }
    return own.cluster
  })
}

async function inPlace(
  directory: string,
  { account, cluster }: Place,
  program: string,
): Promise<OwnPostgres> {
  const socketDir = await mkdtemp(join(tmpdir(), 'lk-'))
  const url = `postgresql://postgres@localhost/postgres?host=${encodeURIComponent(socketDir)}`
  let child: ChildProcess | undefined

  const isRunning = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null

  async function sh(script: string, ...args: string[]): Promise<void> {
    const { status, output } = await run(account, '/bin/sh', ['-ec', script, 'sh', ...args])
    if (status !== 0) throw new Error(`${script}: ${output}`)
  }

  async function stop(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    if (!isRunning()) return
    const ended = once(child!, 'exit')
    child!.kill(signal)
    await ended
  }

  async function start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const given = { listen_addresses: '', unix_socket_directories: socketDir, max_connections: '100', ...isolation, ...settings }
    const options = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    child = spawn(program, ['-D', cluster, ...options], {
      ...identity(account), cwd: '/', env: environment, stdio: 'ignore',
    }) // prettier-ignore
    const here = settings['port'] === undefined ? url : `${url}&port=${settings['port']}`
    await until(async () => execute(here, 'select 1'))
  }

  if (account.uid !== undefined)
    for (const made of [socketDir, directory]) await chown(made, account.uid, account.gid!)
  atEndOfFile(async () => {
    await stop('SIGQUIT')
    await rm(socketDir, { recursive: true, force: true })
  })
  return {
    url, socketDir, start, stop, isRunning, sh, cluster,
    copyTo: async (other) => sh('cp -Rp "$1" "$2"', cluster, other.cluster),
  } // prettier-ignore
} // prettier-ignore
