/** DATA_DIR: what a development start generates once and keeps, readable by its user alone. */
import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The content of a file in DATA_DIR, or undefined. */
export async function readDataFile(dataDir: string, name: string): Promise<string | undefined> {
  try {
    return (await readFile(join(dataDir, name), 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export async function writeDataFile(dataDir: string, name: string, content: string): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  await rm(join(dataDir, name), { force: true })
  await writeFile(join(dataDir, name), `${content}\n`, { mode: 0o600 })
}

/** A secret that is generated once and kept: the same one for all processes that start together. */
export async function keptSecret(dataDir: string, name: string, generate: () => string): Promise<string> {
  const known = await readDataFile(dataDir, name)
  if (known !== undefined) return known
  await mkdir(dataDir, { recursive: true })
  const mine = join(dataDir, `${name}.${process.pid}.${randomBytes(4).toString('hex')}`)
  await writeFile(mine, `${generate()}\n`, { mode: 0o600 })
  // A link is made whole or not at all, and fails when another process was first.
  await link(mine, join(dataDir, name)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(mine)
  return keptSecret(dataDir, name, generate)
}

/** The SECRET_KEY of a development start. */
export async function developmentSecretKey(dataDir: string): Promise<string> {
  return keptSecret(dataDir, 'secret-key', () => randomBytes(32).toString('base64url'))
}
