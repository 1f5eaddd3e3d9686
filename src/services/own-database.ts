/** The database of this server: the one DATABASE_URL names, or the embedded one; migrated, and with its secrets. */
import type { Config } from '../config.ts'
import { openDatabase, type Database } from '../store/database.ts'
import { migrate } from '../store/migrate.ts'
import { developmentSecretKey } from './data-dir.ts'
import type { EmbeddedPostgres } from './embedded-postgres.ts'
import { startOwnPostgres } from './own-postgres.ts'

export interface OwnDatabase {
  /** The configuration with SECRET_KEY filled in. */
  config: Config
  database: Database
  close(): Promise<void>
}

/** Opens it; `postgres` is the embedded one where it was started before. Throws what keeps it from serving. */
export async function openOwnDatabase(
  given: Config,
  postgres?: Promise<EmbeddedPostgres>,
): Promise<OwnDatabase> {
  const config =
    given.SECRET_KEY === undefined
      ? { ...given, SECRET_KEY: [await developmentSecretKey(given.DATA_DIR)] }
      : given
  const embedded =
    config.DATABASE_URL === undefined ? await (postgres ?? startOwnPostgres(config.DATA_DIR)) : undefined
  const url = embedded?.url ?? config.DATABASE_URL!
  try {
    await migrate(url)
    const { DATABASE_POOL_SIZE: poolSize, DATABASE_PREPARE: prepare } = config
    const database = await openDatabase({ url, where: embedded && describe(embedded), poolSize, prepare })
    return {
      config,
      database,
      async close() {
        await database.close()
        await embedded?.stop()
      },
    }
  } catch (error) {
    await embedded?.stop()
    throw error
  }
}

function describe({ dataDir, created, relocated, owned }: EmbeddedPostgres): string {
  const remarks = [
    ...(created ? ['created'] : []),
    ...(relocated ? ['here, since DATA_DIR is out of reach for the user PostgreSQL runs as'] : []),
    ...(owned ? [] : ['started by another process']),
  ]
  return `embedded PostgreSQL in ${dataDir}${remarks.length > 0 ? ` (${remarks.join('; ')})` : ''}`
}
