/**
 * Reads what PostgreSQL itself says about who runs on a cluster (postmaster.pid), and tells a live lock from
 * a stale one.
 */
import { execFile } from 'node:child_process'
import { readFile, realpath, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { type Account, run } from './account.ts'

/** An empty lock file this old (milliseconds) is left from a power failure. */
const emptyLockAge = 2_000

export interface Postmaster {
  pid: number
  /** Empty in the first moments of a start. */
  socketDir: string
  /** As PostgreSQL writes it: `starting`, `ready`, `stopping`; empty in the first moments. */
  status: string
}

/**
 * The postmaster of a cluster; undefined when none runs. A lock that PostgreSQL would stumble over is
 * removed.
 */
export async function findPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const path = join(cluster, 'postmaster.pid')
  const text = await readLock(path)
  if (text === undefined) return undefined
  const lines = text.split('\n').map((line) => line.trim())
  const pid = Math.abs(Number(lines[0]))
  const postmaster = {
    pid,
    socketDir: lines[4] ?? '',
    status: lines[7] ?? '',
  }
  if (text.trim() === '') {
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }))
    if (Date.now() - mtimeMs < emptyLockAge) return postmaster
  } else {
    if (!isRunning(pid)) return undefined
    if (await servesCluster(pid, cluster)) return postmaster
  }
  if ((await readLock(path)) === text) await rm(path, { force: true })
  return undefined
}

/**
 * Immediate shutdown, for one that does not end otherwise: the next start recovers from the write-ahead log.
 */
export async function abort({ pid }: Postmaster, account: Account): Promise<void> {
  await run(account, '/bin/sh', ['-c', 'kill -QUIT "$1"', 'sh', String(pid)])
}

/**
 * After a reboot or in a new container the pid may be somebody else's: a postmaster's command line names its
 * cluster.
 */
async function servesCluster(pid: number, cluster: string): Promise<boolean> {
  const [program = '', ...args] = await commandLine(pid)
  if (program === '' && isRunning(pid)) return true
  if (basename(program) !== 'postgres') return false
  const directory = args[args.indexOf('-D') + 1]
  if (!args.includes('-D') || directory === undefined) return true
  return (await realpath(directory).catch(() => directory)) === (await realpath(cluster))
}

async function commandLine(pid: number): Promise<string[]> {
  if (process.platform === 'linux')
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
  const ps = promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(pid)])
  return ps.then(
    ({ stdout }) => stdout.trim().split(' '),
    () => [],
  )
}

async function readLock(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

/** Whether there is a process of this id. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
