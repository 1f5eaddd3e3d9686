/** DATA_DIR: what a development start generates once and keeps, readable by its user alone. */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError, type Config } from '../../config.ts'

const SECRET_KEY = 'secret-key'
/** Characters that SECRET_KEY has at least, and any secret of ours. */
const [LONG_ENOUGH, SHORTEST] = [32, 16]

/** The cluster of an embedded PostgreSQL, or the note of one that lies elsewhere. */
const CLUSTER = new Set(['postgres', 'postgres.id'])

/** Whether a start has made an embedded database that is found from here. */
export async function holdsDatabase(dataDir: string): Promise<boolean> {
  const files = await readdir(dataDir).catch(() => [])
  return files.some((name) => CLUSTER.has(name))
}

/** The content of a file in DATA_DIR, or undefined. */
export async function readDataFile(dataDir: string, name: string): Promise<string | undefined> {
  try {
    return (await readFile(join(dataDir, name), 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Makes or replaces it, whole: who crashes meanwhile leaves the file that was there, or none. */
export async function writeDataFile(dataDir: string, name: string, content: string): Promise<void> {
  const draft = await writeDraft(dataDir, name, content)
  await rename(draft, join(dataDir, name))
  await flushDirectory(dataDir)
}

/**
 * A secret that is generated once and kept: the same one for all processes that start together. A file that was cut off,
 * as by a crash or a full disk, is as good as none.
 */
export async function keptSecret(dataDir: string, name: string, generate: () => string): Promise<string> {
  const known = await readDataFile(dataDir, name)
  if (known !== undefined && known.length >= SHORTEST) return known
  if (known !== undefined) await writeDataFile(dataDir, name, generate())
  else await makeDataFile(dataDir, name, generate())
  return keptSecret(dataDir, name, generate)
}

/**
 * The SECRET_KEY that a development start has made; undefined before the first. Throws `ConfigError` where it was cut
 * off: what was stored under it cannot be read with another one.
 */
export async function readSecretKey(dataDir: string): Promise<string | undefined> {
  const known = await readDataFile(dataDir, SECRET_KEY)
  if (known === undefined || known.length >= LONG_ENOUGH) return known
  throw new ConfigError(
    `${secretKeyFile(dataDir)} has ${known.length} characters and is cut off: restore it from a copy, or move ${dataDir} away to start afresh.`,
  )
}

/** Where it is. */
export function secretKeyFile(dataDir: string): string {
  return join(dataDir, SECRET_KEY)
}

/** What is to be done where that is gone, or another: who never set SECRET_KEY knows nothing of a list. */
function remedyOfSecretKey({ DATA_DIR, DATABASE_URL }: Config): string {
  return DATABASE_URL === undefined
    ? `restore it, or move DATA_DIR (${DATA_DIR}) away to begin anew`
    : 'restore it, put the key into SECRET_KEY, or begin anew on another database with DATABASE_URL'
}

/** That there is none any more, though something that is stored needs it. */
export function lossOfSecretKey(config: Config): string {
  const file = secretKeyFile(config.DATA_DIR)
  return `${file} is missing, and what is stored was made with the key in it: ${remedyOfSecretKey(config)}.`
}

/** The sentence that what is stored was made with another one; undefined where SECRET_KEY was set. */
export function misfitOfSecretKey(config: Config): ((what: string) => string) | undefined {
  const { secretKeyFile: file } = config
  if (file === undefined) return undefined
  return (what) => `${file} is not the one that ${what} was made with: ${remedyOfSecretKey(config)}.`
}

/** The same, made where there is none. */
export async function developmentSecretKey(dataDir: string): Promise<string> {
  const known = await readSecretKey(dataDir)
  if (known !== undefined) return known
  await makeDataFile(dataDir, SECRET_KEY, randomBytes(32).toString('base64url'))
  return developmentSecretKey(dataDir)
}

/** Unless another process was first. */
async function makeDataFile(dataDir: string, name: string, content: string): Promise<void> {
  const draft = await writeDraft(dataDir, name, content)
  // A link is made whole or not at all.
  await link(draft, join(dataDir, name)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(draft)
  await flushDirectory(dataDir)
}

/** On the disk before it has its name, which a crash would else leave to an empty file. */
async function writeDraft(dataDir: string, name: string, content: string): Promise<string> {
  await mkdir(dataDir, { recursive: true })
  const draft = join(dataDir, `${name}.${process.pid}.${randomBytes(4).toString('hex')}`)
  try {
    await writeFile(draft, `${content}\n`, { mode: 0o600, flush: true })
    return draft
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

async function flushDirectory(path: string): Promise<void> {
  await using directory = await open(path)
  await directory.sync()
}
