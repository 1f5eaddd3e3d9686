/**
 * A process of its own that uses the embedded PostgreSQL of the data directory named on its command line: it
 * prints one line of JSON when it is ready or has failed, and leaves when its standard input ends.
 */
import { startEmbeddedPostgres } from '../../src/services/database/embedded-postgres.ts'

try {
  const postgres = await startEmbeddedPostgres({ dataDir: process.argv[2] ?? '' })
  process.stdin.on('data', () => {})
  process.stdin.once('end', () => void postgres.stop().then(() => process.exit(0)))
  console.log(JSON.stringify(postgres))
} catch (error) {
  console.log(JSON.stringify({ error: (error as Error).message }))
  process.exitCode = 1
}
