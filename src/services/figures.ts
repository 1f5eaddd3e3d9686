/** What the server holds, in numbers for people: counted as far as people care. */
import { migrationNames } from '../migrations/names.ts'
import type { Database } from '../store/database.ts'
import { statements } from '../store/figures.ts'

export interface Figures {
  /** Numbers up to `most`, which stands for all above it too. */
  readonly users: number
  readonly clients: number
  /** Sessions that are open. */
  readonly sessions: number
  readonly most: number
  /** The newest migration that this program knows, and has found or made in the database. */
  readonly schema: string
}

const MOST = 10_000

/** @internal */
export function createFigures(database: Pick<Database, 'query'>): () => Promise<Figures> {
  return async () => {
    const [counted] = await database.query(statements.counts, [MOST + 1])
    const { users, clients, sessions } = counted!
    return { users, clients, sessions, most: MOST, schema: migrationNames.at(-1)! }
  }
}
