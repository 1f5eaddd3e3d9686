/** Commands work on tables that are there: whoever has mistaken the database gets a sentence, and no tables in it. */
import { ConfigError, type Config } from '../config.ts'
import { migrationNames } from '../migrations/names.ts'
import { describePlace } from '../store/database.ts'
import { missingMigrations } from '../store/migrate.ts'

/** Throws `ConfigError`. The embedded database is ours alone: a command may be the first to start it. */
export async function assertTables({ DATABASE_URL: url, DATABASE_SCHEMA: schema }: Config): Promise<void> {
  if (url === undefined) return
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
