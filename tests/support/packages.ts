/**
 * Our packages as strangers get them: packed by npm, installed by npm into a folder that knows nothing of this
 * checkout. Dependencies come in the versions of our lockfile, so that a run tells of our code and not of a release.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { temporaryDirectory } from './cleanup.ts'
import { onceInRun, oneAtATime } from './once-in-run.ts'

const checkout = resolve(import.meta.dirname, '../..')
const STRANGERS = join(checkout, 'tests/strangers')
const NAMES = ['latchkey', '@latchkey/require-scope'] as const

/** It makes `dist` anew, from which others would pack half of it. */
const PACKING = 'packing'
const QUIETLY = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']

/** What most plugins of strangers use besides ours has one installation, and each of them has it. */
const OF_MANY = ['@types/node', 'jose']

export type PackageName = (typeof NAMES)[number]

export interface Packed {
  /** Path of the `.tgz`. */
  tarball: string
  /** What is in it. */
  files: string[]
}

/** `npm pack`, which builds first: once in a run, by the worker that comes first. */
export async function pack(name: PackageName): Promise<Packed> {
  return onceInRun(name.replace('/', '-'), async (place) => {
    const which = name === 'latchkey' ? [] : ['--workspace', name]
    const args = ['pack', ...which, '--pack-destination', place, '--json', '--foreground-scripts=false']
    const [packed] = JSON.parse(await oneAtATime(PACKING, async () => run('npm', args, checkout))) as [
      { filename: string; files: { path: string }[] },
    ]
    return { tarball: join(place, packed.filename), files: packed.files.map(({ path }) => path) }
  })
}

/**
 * A folder with the files of `tests/strangers/<stranger>`, or of another folder by its path; our package, and what else
 * of npm, or of ours, the stranger uses. Who uses the same has the same files, and changes none of them.
 */
export async function installStranger(
  stranger: string,
  name: PackageName,
  { tarball }: Packed,
  others: readonly string[] = [],
): Promise<string> {
  const folder = await temporaryDirectory()
  await cp(resolve(STRANGERS, stranger), folder, { recursive: true })
  await cp(join(STRANGERS, 'tsconfig.json'), join(folder, 'tsconfig.json'))
  const manifest = join(folder, 'package.json')
  const own = existsSync(manifest) ? (JSON.parse(await readFile(manifest, 'utf8')) as Manifest) : {}
  const tarballs = new Map([[name as string, tarball]])
  for (const other of others) if (isOurs(other)) tarballs.set(other, (await pack(other)).tarball)
  const files = Object.fromEntries([...tarballs].map(([ours, path]) => [ours, `file:${basename(path)}`]))
  const besides = [...others, ...(name === 'latchkey' ? OF_MANY : [])].filter((other) => !isOurs(other))
  const theirs = await lockedVersions([...new Set(besides)].toSorted())
  const dependencies = { ...own.dependencies, ...theirs, ...files }
  const text = manifestOf({ ...own, dependencies })
  const place = await installed(text, [...tarballs.values()], await installedAlone(name, tarball))
  await writeFile(manifest, text)
  for (const file of [...tarballs.values(), join(place, 'package-lock.json')])
    await cp(file, join(folder, basename(file)))
  await linkModules(place, folder)
  return folder
}

function manifestOf(members: Manifest): string {
  return JSON.stringify({ private: true, type: 'module', ...members })
}

/** A folder with one of ours and what it brings: most of any installation, and ten times the work of what others have besides. */
async function installedAlone(name: PackageName, tarball: string): Promise<string> {
  return installed(manifestOf({ dependencies: { [name]: `file:${basename(tarball)}` } }), [tarball])
}

/** A folder in which npm has installed what this package.json asks for, onto what `base` has: once in a run. */
async function installed(manifest: string, tarballs: readonly string[], base?: string): Promise<string> {
  return onceInRun(keyOf(manifest), async (place) => {
    await writeFile(join(place, 'package.json'), manifest)
    for (const tarball of tarballs) await cp(tarball, join(place, basename(tarball)))
    await cp(join(checkout, 'package-lock.json'), join(place, 'package-lock.json'))
    if (base !== undefined) await linkModules(base, place)
    await run('npm', ['install', ...QUIETLY], place)
    return place
  })
}

/** The same files, which npm replaces and never writes into. */
async function linkModules(from: string, to: string): Promise<void> {
  await run('cp', ['-RPl', join(from, 'node_modules'), to], to)
}

function keyOf(manifest: string): string {
  return `installed-${createHash('sha256').update(manifest).digest('hex').slice(0, 16)}`
}

function isOurs(name: string): name is PackageName {
  return NAMES.some((ours) => ours === name)
}

/** As pages have it, and as `pack` does it: once in a run is enough. */
const PACKS = /^(?:mkdir -p \S+\n)?npm pack(?: --workspace (\S+))? --pack-destination (\S+)\n/

/**
 * A folder made by the commands of a page that pack one of ours in the checkout and install it elsewhere; `place` is the
 * folder's name there. What else they install comes in the versions of our lockfile, and `others` after it.
 */
export async function installByPage(
  commands: string,
  place: string,
  others: readonly string[] = [],
): Promise<string> {
  const folder = await temporaryDirectory()
  const [packing, name = 'latchkey', to] = PACKS.exec(commands) ?? []
  if (packing === undefined || to !== place || !isOurs(name))
    throw new Error(`Nothing of ours is packed into ${place}:\n${commands}`)
  const { tarball } = await pack(name)
  await cp(tarball, join(folder, basename(tarball)))
  const named = [...commands.matchAll(/(?<= install.*) (@?[a-z][\w/-]*)/g)].map(([, name]) => name!)
  const versions = Object.entries(await lockedVersions([...named, ...others]))
  const pinned = versions.reduce(
    (text, [name, version]) => text.replace(` ${name} `, ` ${name}@${version} `),
    commands.replace(packing, '').replaceAll(place, folder),
  )
  // As in `installStranger`: npm finds most of it there, and asks for the rest.
  await linkModules(await installedAlone(name, tarball), folder)
  await run('sh', ['-euc', pinned], checkout)
  await cp(join(STRANGERS, 'tsconfig.json'), join(folder, 'tsconfig.json'))
  const more = versions
    .filter(([name]) => others.includes(name))
    .map(([name, version]) => `${name}@${version}`)
  if (more.length > 0) await run('npm', ['install', ...QUIETLY, ...more], folder)
  return folder
}

/**
 * Compiles the folder's TypeScript with the compiler of this checkout. That the declarations of what is installed hold
 * takes five times as long, and is shown once in a run for each installation. @throws Error with what it reports
 */
export async function compile(folder: string): Promise<void> {
  const manifest = await readFile(join(folder, 'package.json'), 'utf8')
  const place = join(inject('runDirectory'), keyOf(manifest))
  const isShared = existsSync(place)
  const checking = isShared ? checkDeclarations(place) : undefined
  await Promise.all([checking, compileWith(folder, ...(isShared ? ['--skipLibCheck'] : []))])
}

/** Of the packages that were asked for. */
async function checkDeclarations(place: string): Promise<void> {
  const { dependencies = {} } = JSON.parse(await readFile(join(place, 'package.json'), 'utf8')) as Manifest
  await onceInRun(`${basename(place)}-declarations`, async (folder) => {
    const names = Object.keys(dependencies).filter((name) => !name.startsWith('@types/'))
    await writeFile(join(folder, 'all.ts'), names.map((name) => `import '${name}'\n`).join(''))
    await cp(join(STRANGERS, 'tsconfig.json'), join(folder, 'tsconfig.json'))
    await symlink(join(place, 'node_modules'), join(folder, 'node_modules'))
    await compileWith(folder)
  })
}

async function compileWith(folder: string, ...options: string[]): Promise<void> {
  // Several threads would check the same declarations several times over, at twice the cost.
  const tsc = join(checkout, 'node_modules/typescript/bin/tsc')
  await run(process.execPath, [tsc, '-p', '.', '--singleThreaded', ...options], folder)
}

/** Runs a program to its end and returns its stdout. @throws Error with all of its output when it fails */
export async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    return (await promisify(execFile)(command, args, { cwd, maxBuffer: 16 * 1024 * 1024 })).stdout
  } catch (error) {
    const { message, stdout, stderr } = error as Error & { stdout: string; stderr: string }
    throw new Error(`${message}\n${stdout}\n${stderr}`, { cause: error })
  }
}

interface Manifest {
  dependencies?: Record<string, string>
}

async function lockedVersions(names: readonly string[]): Promise<Record<string, string>> {
  const { packages } = JSON.parse(await readFile(join(checkout, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string }>
  }
  return Object.fromEntries(names.map((name) => [name, packages[`node_modules/${name}`]!.version]))
}
