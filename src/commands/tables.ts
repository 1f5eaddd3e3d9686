/** Commands work on a database that is there: whoever has mistaken it gets a sentence, and nothing new in the wrong place. */
import { ConfigError, type Config } from '../config.ts'
import { migrationNames } from '../migrations/names.ts'
import { holdsDatabase } from '../services/database/data-dir.ts'
import { describePlace } from '../store/database.ts'
import { missingMigrations } from '../store/migrate.ts'

/**
 * Throws `ConfigError`. The embedded database is ours alone: a command that `begins`, since it registers something, may be
 * the first to start it, and says so; others would find nothing in it.
 */
export async function assertTables(config: Config, begins: boolean): Promise<void> {
  if (config.DATABASE_URL === undefined) await assertEmbedded(config.DATA_DIR, begins)
  else await assertMigrated(config.DATABASE_URL, config.DATABASE_SCHEMA)
}

async function assertEmbedded(dataDir: string, begins: boolean): Promise<void> {
  if (await holdsDatabase(dataDir)) return
  if (!begins)
    throw new ConfigError(
      `There is no database in DATA_DIR ${dataDir}: start the server there, or mend DATA_DIR, or set DATABASE_URL.`,
    )
  console.error(`There was no database in DATA_DIR ${dataDir}: one is made there.`)
}

async function assertMigrated(url: string, schema: string | undefined): Promise<void> {
  const place = { url, schema }
  const missing = await missingMigrations(place)
  if (missing.length === 0) return
  if (missing.length === migrationNames.length)
    throw new ConfigError(
      `There are no tables of Latchkey at ${describePlace(place)}: run \`latchkey migrate\` or start the server there, or mend DATABASE_URL and DATABASE_SCHEMA.`,
    )
  const more = missing.length > 1 ? ` and ${missing.length - 1} more` : ''
  throw new ConfigError(
    `The database lacks the migration ${missing[0]}${more}: run \`latchkey migrate\` on it, or start the server.`,
  )
}
