/**
 * Where the cluster lies: in the server's data directory, or, when the account that PostgreSQL needs cannot
 * get there, in a directory below /var/lib that belongs to root.
 */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, link, lstat, mkdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Account, accountOfOwner, run } from './account.ts'

/** Only root creates here, and everybody may pass through. */
const rootsDirectory = '/var/lib/latchkey'

export interface Place {
  account: Account
  /** The directory in which the cluster and its precursors are siblings. */
  base: string
  cluster: string
  relocated: boolean
}

/**
 * Decides on a place, the same one at every start, and creates its directories (not the cluster itself).
 * An existing cluster is always found again, and is run by the user who owns it.
 * @throws Error when an existing cluster is out of reach
 */
export async function choosePlace(dataDir: string, account: Account): Promise<Place> {
  const base = await makeDirectory(resolve(dataDir))
  const cluster = join(base, 'postgres')
  const owner = await ownerOf(cluster)
  if (account.uid === undefined) {
    if (owner && owner.uid !== process.getuid?.())
      throw new Error(
        `The database in ${cluster} belongs to uid ${owner.uid}: start the server as that user or as root.`,
      )
    return { account, base, cluster, relocated: false }
  }
  if (owner) {
    const holder = owner.uid === 0 ? account : await accountOfOwner(owner.uid, owner.gid)
    if (await canReach(holder, base)) return { account: holder, base, cluster, relocated: false }
    throw new Error(
      `The database in ${cluster} is out of reach for ${holder.name}, whom PostgreSQL runs as: open ${base}.`,
    )
  }
  const known = existsSync(identityPath(base)) ? join(rootsDirectory, await readIdentity(base)) : undefined
  const otherOwner = known && (await ownerOf(join(known, 'postgres')))
  if (!otherOwner && (await canReach(account, base))) return { account, base, cluster, relocated: false }
  const other = known ?? join(rootsDirectory, await readIdentity(base))
  await makeRootsDirectory(other)
  await writeFile(join(other, 'origin'), `${base}\n`)
  const holder = otherOwner ? await accountOfOwner(otherOwner.uid, otherOwner.gid) : account
  return { account: holder, base: other, cluster: join(other, 'postgres'), relocated: true }
}

/**
 * A directory that every user may read and only root may write, for what PostgreSQL could not reach
 * otherwise.
 * @throws Error when it cannot be made, or somebody else could write there
 */
export async function makeRootsDirectory(directory = rootsDirectory): Promise<string> {
  for (const path of new Set([rootsDirectory, directory])) {
    await make(path)
    const { uid, mode } = await lstat(path)
    if (uid !== 0 || (mode & 0o022) !== 0)
      throw new Error(
        `${path} must belong to root and be writable by nobody else: correct it or set DATABASE_URL.`,
      )
    await chmod(path, 0o755)
  }
  return directory
}

/** Asks the kernel instead of reading modes: groups, ACLs and mounts count too. */
export async function canReach(account: Account, directory: string): Promise<boolean> {
  return (await run(account, '/bin/sh', ['-c', 'cd "$1"', 'sh', directory])).status === 0
}

/**
 * A name for what belongs to a data directory but lies elsewhere. It depends on the path and on a random part
 * kept there: a data directory that was deleted and made again must not meet the old data, whose keys went
 * with it; nor must a copy.
 */
async function readIdentity(base: string): Promise<string> {
  const path = identityPath(base)
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  if (!existsSync(path)) {
    await writeFile(draft, randomBytes(16).toString('hex'), { flag: 'wx', mode: 0o600, flush: true })
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    await rm(draft)
  }
  const random = await readFile(path, 'utf8')
  if (random === '')
    throw new Error(
      `${path} is empty, so the database that it leads to cannot be found: restore it from a backup, or delete it to start afresh.`,
    )
  return createHash('sha256').update(`${base}\n${random}`).digest('hex').slice(0, 16)
}

function identityPath(base: string): string {
  return join(base, 'postgres.id')
}

async function makeDirectory(path: string): Promise<string> {
  const first = await make(path)
  if (first !== undefined && process.getuid?.() === 0) await chmod(path, 0o755)
  return realpath(path)
}

/** Returns the first directory that was missing. */
async function make(path: string): Promise<string | undefined> {
  return mkdir(path, { recursive: true, mode: 0o755 }).catch((cause: NodeJS.ErrnoException) => {
    const sentence = `The directory ${path} cannot be made (${cause.code}): set DATA_DIR or DATABASE_URL.`
    throw new Error(sentence, { cause })
  })
}

async function ownerOf(cluster: string): Promise<{ uid: number; gid: number } | undefined> {
  return stat(cluster).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}
