/** The embedded PostgreSQL as this server's own: what keeps it from starting is for the operator to mend. */
import { ConfigError } from '../../config.ts'
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.ts'

/** Starts it, or attaches to it. Throws `ConfigError` with its own sentence; a fault of ours passes as it is. */
export async function startOwnPostgres(dataDir: string): Promise<EmbeddedPostgres> {
  try {
    return await startEmbeddedPostgres({ dataDir })
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException
    if (name !== 'Error' || code !== undefined) throw error
    throw new ConfigError(message, { cause: error })
  }
}
