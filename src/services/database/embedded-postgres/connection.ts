/**
 * The two things we ask of a running PostgreSQL ourselves: does it take connections, and does our database
 * exist.
 */
import { Client, DatabaseError, escapeIdentifier } from 'pg'

/** False while it starts up or shuts down (57P03), or when it has just gone. */
export async function isAccepting(host: string): Promise<boolean> {
  try {
    await withClient(host, (client) => client.query('select 1'))
    return true
  } catch {
    return false
  }
}

/** Creates the database when it is missing; another process may be doing the same. */
export async function ensureDatabase(host: string, name: string): Promise<void> {
  await withClient(host, async (client) => {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name])
    if (rowCount !== 0) return
    try {
      await client.query(`create database ${escapeIdentifier(name)}`)
    } catch (error) {
      const isThere = error instanceof DatabaseError && (error.code === '42P04' || error.code === '23505')
      if (!isThere) throw error
    }
  })
}

async function withClient<T>(host: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    host,
    port: 5432,
    user: 'postgres',
    database: 'postgres',
    connectionTimeoutMillis: 5_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return await use(client)
  } finally {
    await client.end().catch(() => {})
  }
}
