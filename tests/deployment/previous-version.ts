/**
 * The version before the newest migration, out of the history: the last commit before it that starts. A clone without
 * history has none.
 */
import { execFile } from 'node:child_process'
import { chmod, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryDirectory } from '../support/cleanup.ts'
import { checkout } from './containerfile.ts'

const run = promisify(execFile)
/** Commits to look at: not each of them was a version that somebody could have run. */
const DEPTH = 20

export interface PreviousVersion {
  /** What `spawnServer` runs. */
  program: string
  /** The migrations that it does not know. */
  newer: string[]
}

export async function findPreviousVersion(): Promise<PreviousVersion | undefined> {
  const before = await commitsBeforeTheNewestMigration().catch(() => [])
  for (const commit of before) {
    const directory = await extract(commit)
    const program = await makeProgram(directory)
    const starts = await run(program, ['client', '--help']).catch(() => undefined)
    if (starts === undefined) continue
    const known = await migrationsIn(directory)
    return { program, newer: (await migrationsIn(checkout)).filter((name) => !known.includes(name)) }
  }
  return undefined
}

async function migrationsIn(directory: string): Promise<string[]> {
  const names = await readdir(join(directory, 'src/migrations'))
  return names.filter((name) => name.startsWith('Migration')).toSorted()
}

async function commitsBeforeTheNewestMigration(): Promise<string[]> {
  const git = async (...args: string[]) =>
    (await run('git', args, { cwd: checkout })).stdout.split('\n').filter((line) => line !== '')
  const [adding] = await git('log', '--format=%H', '--diff-filter=A', '-1', '--', 'src/migrations/Migration*')
  return git('rev-list', `--max-count=${DEPTH}`, `${adding}^`)
}

async function extract(commit: string): Promise<string> {
  const directory = await temporaryDirectory()
  const archive = join(await temporaryDirectory(), 'version.tar')
  await run('git', ['archive', '--output', archive, commit], { cwd: checkout })
  await run('tar', ['-xf', archive, '-C', directory])
  await symlink(join(checkout, 'node_modules'), join(directory, 'node_modules'))
  return directory
}

async function makeProgram(directory: string): Promise<string> {
  const program = join(directory, 'latchkey')
  await writeFile(program, `#!/bin/sh\nexec ${process.execPath} ${join(directory, 'src/main.ts')} "$@"\n`)
  await chmod(program, 0o755)
  return program
}
