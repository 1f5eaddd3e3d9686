/** The tests' own way to a PostgreSQL server, beside the server under test. */
import { Client, type QueryResultRow } from 'pg'

/** However the database is: what a test looks at does not stand in the way, and a standby knows no serializable. */
export const ASIDE = { options: '-c default_transaction_isolation=read\\ committed' }

/** The same server, another database. */
export function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}

/** Runs one statement on a connection of its own and returns the rows. */
export async function execute<Row extends QueryResultRow>(
  url: string,
  statement: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new Client({ connectionString: url, ...ASIDE })
  await client.connect()
  try {
    return (await client.query<Row>(statement, values)).rows
  } finally {
    await client.end()
  }
}
