/**
 * The database of this server: one that somebody has open, the one DATABASE_URL names, or the embedded one; with the
 * newest schema, and with its secrets.
 */
import type pg from 'pg'
import { ConfigError, type Config } from '../../config.ts'
import { engineOf } from '../../store/distribution/engine.ts'
import { openDatabase, type Database } from '../../store/database.ts'
import { sqlState } from '../../store/failures.ts'
import { findLater, migrate, missingMigrations } from '../../store/migrate.ts'
import { keepsPrepared } from '../../store/prepared.ts'
import { retried } from '../../store/retries.ts'
import { readServerFacts } from '../../store/server-facts.ts'
import { statements as uses } from '../../store/secret-key-uses.ts'
import { withClient, type Place } from '../../store/connections.ts'
import { developmentSecretKey, lossOfSecretKey, readSecretKey, secretKeyFile } from './data-dir.ts'
import type { EmbeddedPostgres } from './embedded-postgres.ts'
import { startOwnPostgres } from './own-postgres.ts'

const DUPLICATE_TABLE = '42P07'
/** As of DATABASE_POOL_SIZE: with one, what holds it would wait for another. */
const LEAST_CONNECTIONS = 2

export interface OwnDatabase {
  /** The configuration with SECRET_KEY filled in. */
  config: Config
  database: Database
  close(): Promise<void>
}

export interface OwnDatabaseOptions {
  /** The embedded one, where it was started before. */
  postgres?: Promise<EmbeddedPostgres> | undefined
  /** Connections of somebody else's, which stay theirs. */
  pool?: pg.Pool | undefined
  /** Whether missing migrations are run; else they are an error. Default true. */
  migrate?: boolean | undefined
  /** Logs what takes its time. */
  warn?: ((about: object, text: string) => void) | undefined
}

/** Opens it. Throws what keeps it from serving. */
export async function openOwnDatabase(
  config: Config,
  options: OwnDatabaseOptions = {},
): Promise<OwnDatabase> {
  const { postgres, pool, migrate: migrates = true, warn } = options
  // One that is cut off is refused before anything is done.
  if (config.SECRET_KEY === undefined) await readSecretKey(config.DATA_DIR)
  const embedded =
    pool === undefined && config.DATABASE_URL === undefined
      ? await (postgres ?? startOwnPostgres(config.DATA_DIR))
      : undefined
  const url = pool === undefined ? (embedded?.url ?? config.DATABASE_URL) : undefined
  const place = { url, pool, schema: config.DATABASE_SCHEMA }
  try {
    // What was done of it when PostgreSQL refuses something to serialize is found done the next time.
    const { engine, allowed } = await retried(async () =>
      withClient(place, async (client) => {
        const at = { ...place, client }
        await assertNotNewer(at)
        await (migrates ? migrateAt(at, warn) : assertMigrated(at))
        if (embedded === undefined && pool === undefined) await assertPrepares(at, config)
        return { engine: await engineOf(at), allowed: (await readServerFacts(at)).connections }
      }),
    )
    const { DATABASE_PREPARE: prepare } = config
    const where = embedded && describe(embedded)
    const database = await openDatabase({
      ...place,
      ...(where === undefined ? {} : { where }),
      poolSize: shareOf(config, allowed),
      prepare,
      engine,
    })
    return {
      config: await withSecretKey(config, database).catch(async (error: unknown) => {
        await database.close()
        throw error
      }),
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

/**
 * Connections of this process: no more than its share of what the database allows us, less one that asks for others
 * (`src/store/retiring.ts`). Other machines are not known here.
 */
function shareOf({ DATABASE_POOL_SIZE: most, WORKERS: workers }: Config, allowed: number): number {
  return Math.max(LEAST_CONNECTIONS, Math.min(most, Math.floor(allowed / workers) - 1))
}

/** With the key of DATA_DIR where SECRET_KEY is not set: it is made for a database in which nothing needs a former one. */
async function withSecretKey(config: Config, database: Database): Promise<Config> {
  if (config.SECRET_KEY !== undefined) return config
  const isNeeded = async (): Promise<boolean> => (await database.query(uses.all)).length > 0
  // Read again after that: who starts beside us makes the key before its first use.
  if (
    (await readSecretKey(config.DATA_DIR)) === undefined &&
    (await isNeeded()) &&
    (await readSecretKey(config.DATA_DIR)) === undefined
  )
    throw new ConfigError(lossOfSecretKey(config))
  return {
    ...config,
    SECRET_KEY: [await developmentSecretKey(config.DATA_DIR)],
    secretKeyFile: secretKeyFile(config.DATA_DIR),
  }
}

/** Whose tables are there already cannot be told; that they are in the way can. */
async function migrateAt(place: Place, warn: OwnDatabaseOptions['warn']): Promise<void> {
  const onWait = (migration: string): void =>
    warn?.(
      { migration },
      'a migration waits for a lock that somebody else holds, and is tried again for two minutes',
    )
  await migrate(place, { onWait }).catch((cause: unknown) => {
    if (sqlState(cause) !== DUPLICATE_TABLE) throw cause
    throw new ConfigError(
      `The database has tables of somebody else's by our names: set DATABASE_SCHEMA to a schema for ours alone.`,
      { cause },
    )
  })
}

/** Else it would come as a puzzle, and not at once. */
async function assertPrepares(place: Place, { DATABASE_PREPARE: prepare }: Config): Promise<void> {
  if (prepare && !(await keepsPrepared(place)))
    throw new ConfigError(
      'DATABASE_URL leads to a pooler that loses prepared statements: set DATABASE_PREPARE=false, or let it keep them (max_prepared_statements of PgBouncer 1.21).',
    )
}

/** One that is one version back may run beside it, and no other. */
async function assertNotNewer(place: Place): Promise<void> {
  const later = await findLater(place)
  if (later?.isWelcoming === false)
    throw new ConfigError(
      `The schema of the database is that of a later version (${later.newest}), beside which this one cannot run: start that version, or the one right before it.`,
    )
}

async function assertMigrated(place: Place): Promise<void> {
  const missing = await missingMigrations(place)
  if (missing.length === 0) return
  const more = missing.length > 1 ? ` and ${missing.length - 1} more` : ''
  throw new ConfigError(
    `The database lacks the migration ${missing[0]}${more}: run \`latchkey migrate\` on it, or let this start do it with migrate: true.`,
  )
}

function describe({ dataDir, created, relocated, owned }: EmbeddedPostgres): string {
  const remarks = [
    ...(created ? ['created'] : []),
    ...(relocated ? ['here, since DATA_DIR is out of reach for the user PostgreSQL runs as'] : []),
    ...(owned ? [] : ['started by another process']),
  ]
  return `embedded PostgreSQL in ${dataDir}${remarks.length > 0 ? ` (${remarks.join('; ')})` : ''}`
}
