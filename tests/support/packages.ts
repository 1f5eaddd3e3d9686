/**
 * Our packages as strangers get them: packed by npm, installed by npm into a folder that knows nothing of this
 * checkout. Dependencies come in the versions of our lockfile, so that a run tells of our code and not of a release.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { temporaryDirectory } from './cleanup.ts'
import { until } from './until.ts'

const checkout = resolve(import.meta.dirname, '../..')
const DIRECTORIES = { latchkey: '.', '@latchkey/require-scope': 'plugins/require-scope' } as const

const QUIETLY = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']

export type PackageName = keyof typeof DIRECTORIES

interface Failed {
  failed: string
}

export interface Packed {
  /** Path of the `.tgz`. */
  tarball: string
  /** What is in it. */
  files: string[]
}

/** `npm pack`, which builds first: once in a run, by the worker that comes first. */
export async function pack(name: PackageName): Promise<Packed> {
  const place = join(inject('runDirectory'), name.replace('/', '-'))
  const report = join(place, 'packed.json')
  const isFirst = await mkdir(place).then(
    () => true,
    () => false,
  )
  if (isFirst) {
    const packed = await packInto(place, name).catch((error: Error) => ({ failed: error.message }))
    await writeFile(`${report}.new`, JSON.stringify(packed))
    await rename(`${report}.new`, report)
  }
  const packed = await until(
    async () => JSON.parse(await readFile(report, 'utf8')) as Packed | Failed,
    190_000,
  )
  if ('failed' in packed) throw new Error(packed.failed)
  return packed
}

async function packInto(destination: string, name: PackageName): Promise<Packed> {
  const args = ['pack', '--json', '--foreground-scripts=false', '--pack-destination', destination]
  const [packed] = JSON.parse(await run('npm', args, join(checkout, DIRECTORIES[name]))) as [
    { filename: string; files: { path: string }[] },
  ]
  return { tarball: join(destination, packed.filename), files: packed.files.map(({ path }) => path) }
}

/**
 * A folder with the files of `tests/strangers/<stranger>`, or of another folder by its path; our package, and what else
 * of npm the stranger uses.
 */
export async function installStranger(
  stranger: string,
  name: PackageName,
  { tarball }: Packed,
  others: readonly string[] = [],
): Promise<string> {
  const folder = await temporaryDirectory()
  const strangers = join(checkout, 'tests/strangers')
  await cp(resolve(strangers, stranger), folder, { recursive: true })
  await cp(join(strangers, 'tsconfig.json'), join(folder, 'tsconfig.json'))
  await cp(tarball, join(folder, basename(tarball)))
  await cp(join(checkout, 'package-lock.json'), join(folder, 'package-lock.json'))
  const manifest = join(folder, 'package.json')
  const own = existsSync(manifest) ? (JSON.parse(await readFile(manifest, 'utf8')) as Manifest) : {}
  const ours = { [name]: `file:${basename(tarball)}`, ...(await lockedVersions(others)) }
  const dependencies = { ...own.dependencies, ...ours }
  await writeFile(manifest, JSON.stringify({ private: true, type: 'module', ...own, dependencies }))
  await run('npm', ['install', ...QUIETLY], folder)
  return folder
}

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
  if (!commands.includes(place)) throw new Error(`Nothing goes to ${place}:\n${commands}`)
  const named = [...commands.matchAll(/(?<= install.*) (@?[a-z][\w/-]*)/g)].map(([, name]) => name!)
  const versions = Object.entries(await lockedVersions([...named, ...others]))
  const pinned = versions.reduce(
    (text, [name, version]) => text.replace(` ${name} `, ` ${name}@${version} `),
    commands.replaceAll(place, folder),
  )
  await run('sh', ['-euc', pinned], checkout)
  await cp(join(checkout, 'tests/strangers/tsconfig.json'), join(folder, 'tsconfig.json'))
  const more = versions
    .filter(([name]) => others.includes(name))
    .map(([name, version]) => `${name}@${version}`)
  if (more.length > 0) await run('npm', ['install', ...QUIETLY, ...more], folder)
  return folder
}

/** Compiles the folder's TypeScript with the compiler of this checkout. @throws Error with what it reports */
export async function compile(folder: string): Promise<void> {
  // Several threads would check the same declarations several times over, at twice the cost.
  const tsc = join(checkout, 'node_modules/typescript/bin/tsc')
  await run(process.execPath, [tsc, '-p', '.', '--singleThreaded'], folder)
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
