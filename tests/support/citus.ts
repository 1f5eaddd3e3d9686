/**
 * Three servers of Citus, one in front and two that hold shares: of the build whose programs' folder CITUS_BIN names. Where it names none,
 * what needs them is skipped (`noCitus`), and the run says so.
 */
import { Pool, type QueryResultRow } from 'pg'
import { migrate } from '../../src/store/migrate.ts'
import { atEndOfFile, temporaryDirectory } from './cleanup.ts'
import { acquaint, type CitusNode, startNode } from './citus-nodes.ts'
import { ASIDE } from './connection.ts'
import type { TestDatabase } from './database.ts'

const bin = process.env['CITUS_BIN']

if (bin === undefined)
  process.stderr.write(
    '\n!!! SKIPPED: CITUS_BIN names no build of PostgreSQL with Citus, so nothing runs on Citus: see CONTRIBUTING.md.\n\n',
  )

/** For `describe.skipIf`. */
export const noCitus = bin === undefined

export interface Citus {
  front: CitusNode
  nodes: CitusNode[]
  /** Migrated, and not distributed yet. */
  database: TestDatabase
}

export async function startCitus(): Promise<Citus> {
  const [front, ...nodes] = await Promise.all([startOwnNode(), startOwnNode(), startOwnNode()])
  await acquaint([front, ...nodes], front.url)
  await migrate(front.url)
  const pool = new Pool({ connectionString: front.url, max: 2, allowExitOnIdle: true, ...ASIDE })
  pool.on('error', () => {})
  const drop = atEndOfFile(async () => pool.end())
  const query: TestDatabase['query'] = async <Row extends QueryResultRow>(
    text: string,
    values: unknown[] = [],
  ) => (await pool.query<Row>(text, values)).rows
  return { front, nodes, database: { url: front.url, query, drop } }
}

async function startOwnNode(): Promise<CitusNode> {
  const node = await startNode(bin!, await temporaryDirectory())
  atEndOfFile(async () => node.stop('SIGQUIT'))
  return node
}
