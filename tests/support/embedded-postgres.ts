/** Other processes that use an embedded PostgreSQL, and checkouts for them that their user can reach. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { EmbeddedPostgres } from '../../src/services/database/embedded-postgres.ts'
import { atEndOfFile } from './cleanup.ts'

const ownCheckout = resolve(import.meta.dirname, '../..')
const program = 'tests/support/embedded-postgres-process.ts'
export const binariesPackage = `@embedded-postgres/${process.platform}-${process.arch}`

export interface PostgresProcess {
  /** What `startEmbeddedPostgres` returned there, or its error's message. */
  result: Omit<EmbeddedPostgres, 'stop'> & { error?: string }
  child: ChildProcess
  /** Ends it in order and waits. */
  leave(): Promise<void>
  /** SIGKILL, and waits. */
  kill(): Promise<void>
}

export interface ProcessOptions {
  checkout?: string
  uid?: number
  env?: Record<string, string>
}

/** Starts a process on a data directory and waits until it uses PostgreSQL or has failed to. */
export async function startProcess(dataDir: string, options: ProcessOptions = {}): Promise<PostgresProcess> {
  const { checkout = ownCheckout, uid, env } = options
  const child = spawn(process.execPath, [join(checkout, program), dataDir], {
    cwd: '/',
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  const exit = once(child, 'exit')
  const kill = atEndOfFile(async () => {
    child.kill('SIGKILL')
    await exit
  })
  const leave = async () => {
    child.stdin.end()
    await exit
  }
  for await (const line of createInterface(child.stdout))
    return { result: JSON.parse(line), child, leave, kill }
  throw new Error('The process ended without a word.')
}

/**
 * Copies the embedded PostgreSQL, sources and binaries, to another checkout; the driver there is a link to
 * ours.
 */
export async function copyCheckout(directory: string, { binaries = true } = {}): Promise<string> {
  const sources = [
    'package.json',
    'src/services/database/embedded-postgres.ts',
    'src/services/database/embedded-postgres',
    program,
  ]
  const paths = binaries ? [...sources, `node_modules/${binariesPackage}`] : sources
  await mkdir(join(directory, 'node_modules'))
  for (const path of paths) {
    await mkdir(join(directory, path, '..'), { recursive: true })
    await cp(join(ownCheckout, path), join(directory, path), { recursive: true, verbatimSymlinks: true })
  }
  await symlink(join(ownCheckout, 'node_modules/pg'), join(directory, 'node_modules/pg'))
  return directory
}

/** Whether a user gets at our Node and at this checkout, so that a process of theirs can be tried. */
export function canRunHere(uid: number): boolean {
  const script = `require('fs').accessSync(${JSON.stringify(join(ownCheckout, 'node_modules/pg/package.json'))})`
  return spawnSync(process.execPath, ['-e', script], { uid, gid: uid, cwd: '/' }).status === 0
}
