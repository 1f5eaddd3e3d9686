/** The embedded PostgreSQL, where there is one already: an examination makes none. */
import { statfs } from 'node:fs/promises'
import { ConfigError } from '../config.ts'
import type { EmbeddedPostgres } from '../services/database/embedded-postgres.ts'
import { holdsDatabase } from '../services/database/data-dir.ts'
import { startOwnPostgres } from '../services/database/own-postgres.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

const CHECK = 'embedded PostgreSQL'
/** Bytes. PostgreSQL stops when there is no room for its log. */
const [SCARCE, GONE] = [1_000_000_000, 100_000_000]

export async function openEmbedded(
  dataDir: string,
): Promise<{ postgres?: EmbeddedPostgres; findings: Finding[] }> {
  if (!(await holdsDatabase(dataDir)))
    return {
      findings: [warn(CHECK, `DATA_DIR ${dataDir} holds no database: the first start makes one there.`)],
    }
  const findings = [
    warn(CHECK, 'The embedded PostgreSQL is for development and demos: set DATABASE_URL for anything else.'),
  ]
  try {
    const postgres = await startOwnPostgres(dataDir)
    return { postgres, findings: [...findings, await examineDisk(postgres.dataDir)] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { findings: [...findings, fail(CHECK, error.message)] }
  }
}

async function examineDisk(directory: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(directory)
  const free = bavail * bsize
  const says = `${Math.floor(free / 1e6)} MB are free in ${directory}`
  if (free >= SCARCE) return ok('disk', `${says}.`)
  return (free >= GONE ? warn : fail)('disk', `${says}: make room before PostgreSQL stops.`)
}
