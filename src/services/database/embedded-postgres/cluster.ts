/**
 * Creates the cluster at the first start. initdb works in a sibling that takes its final name when complete,
 * so a crash leaves no half-made cluster, and of two processes that do this at once one wins and the other
 * throws its own away.
 */
import { chown, mkdtemp, readFile, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './account.ts'
import type { Binaries } from './binaries.ts'
import type { Place } from './place.ts'

/** A precursor this old (milliseconds) belongs to a process that died. */
const abandonedAfter = 600_000

const REMEDY = 'restore it from a backup, or move it away to start afresh, or set DATABASE_URL.'

/**
 * Returns whether this call made the cluster; false when it was there.
 * @throws Error when the directory refuses it, initdb fails or the cluster is of another major version
 */
export async function createCluster(place: Place, binaries: Binaries): Promise<boolean> {
  const version = await versionOf(place.cluster)
  if (version === binaries.major) return false
  if (version === undefined) await assertNothingThere(place.cluster)
  else
    throw new Error(
      `The database in ${place.cluster} is of PostgreSQL ${version} and this one is ${binaries.major}: ` +
        'dump and restore it, or delete that directory to start afresh.',
    )
  await removeAbandoned(place)
  const draft = await mkdtemp(`${place.cluster}.new-`).catch((cause: NodeJS.ErrnoException) => {
    const sentence = `PostgreSQL may not write to ${place.base} (${cause.code}): set DATA_DIR or DATABASE_URL.`
    throw new Error(sentence, { cause })
  })
  try {
    const { uid, gid } = place.account
    if (uid !== undefined && gid !== undefined) await chown(draft, uid, gid)
    await initialize(place, binaries, draft)
    await rename(draft, place.cluster)
    return true
  } catch (error) {
    if ((await versionOf(place.cluster)) === binaries.major) return false
    throw error
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/**
 * The builtin locale sorts and folds alike on every platform. Nothing is synced: a power failure within the
 * first half minute may cost a cluster that holds nothing yet.
 */
async function initialize({ account }: Place, { initdb }: Binaries, directory: string): Promise<void> {
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const args = ['-D', directory, '-U', 'postgres', '-A', 'trust', ...locale, '--no-sync', '--no-instructions']
  const { status, output } = await run(account, initdb, args)
  if (status === 0) return
  const reason = /(?:error|FATAL): .*/.exec(output)?.[0] ?? output.split('\n').at(-1)
  throw new Error(`The embedded PostgreSQL could not create its database in ${directory}: ${reason}`)
}

async function versionOf(cluster: string): Promise<string | undefined> {
  const path = join(cluster, 'PG_VERSION')
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new Error(`${path} cannot be read (${error.code}): ${REMEDY}`, { cause: error })
  })
  if (text?.trim() === '') throw new Error(`${path} is empty, so this database is damaged: ${REMEDY}`)
  return text?.trim()
}

/** An initdb would not take a place where something lies, and nothing there is ours to delete. */
async function assertNothingThere(cluster: string): Promise<void> {
  const found = await readdir(cluster).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new Error(`${cluster} cannot be read (${error.code}): ${REMEDY}`, { cause: error })
  })
  // Another process may have put a whole one there just now.
  if (found.length > 0 && (await versionOf(cluster)) === undefined)
    throw new Error(`${cluster} holds files and no database (no PG_VERSION): ${REMEDY}`)
}

async function removeAbandoned({ base }: Place): Promise<void> {
  const drafts = (await readdir(base)).filter((name) => name.startsWith('postgres.new-'))
  for (const path of drafts.map((name) => join(base, name))) {
    const age = Date.now() - (await stat(path).catch(() => ({ mtimeMs: Date.now() }))).mtimeMs
    if (age > abandonedAfter) await rm(path, { recursive: true, force: true })
  }
}
