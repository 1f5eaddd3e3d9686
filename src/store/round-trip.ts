/**
 * One trip to PostgreSQL with several statements, in the extended protocol: they run in their order, in one transaction,
 * which ends with the trip. Each is prepared once on a connection, and what its rows look like is asked once.
 *
 * No function is assigned to a property here, and none is a getter: V8 makes those among the old objects, and all that
 * a trip brought would stay in memory until these are collected (docs/adr/0028).
 */
import pg from 'pg'
import { waitAtMost } from './patience.ts'

export interface Named {
  /** Under which it is prepared; empty where it is not to be. */
  readonly name: string
  readonly text: string
  /** What its rows look like, once it has been run. */
  readonly shape: { columns?: readonly Column[] }
}

export interface Asked extends Named {
  /** As PostgreSQL reads them. */
  readonly parameters: readonly (string | Buffer | null)[]
}

interface Column {
  readonly name: string
  readonly parse: (text: string) => unknown
}

export interface RoundTrip {
  /**
   * Resolves to the rows of each statement, once all are committed. After `limit` milliseconds without them it throws, and
   * the connection is good for nothing more.
   */
  on(client: pg.ClientBase, limit: number): Promise<unknown[][]>
  /** Whether it prepares statements that its connection does not know. */
  prepares(): boolean
}

/** `pg`'s connection, as a query of its own sees it. */
interface Connection {
  readonly stream: { cork(): void; uncork(): void }
  /** Texts by names: what is prepared on it, shared with the queries that `pg` makes. */
  readonly parsedStatements: Record<string, string>
  parse(statement: { name: string; text: string }): void
  bind(portal: { statement: string; values: readonly unknown[] }): void
  describe(portal: { type: 'P'; name: '' }): void
  execute(portal: object): void
  sync(): void
}

export function createRoundTrip(asked: readonly Asked[]): RoundTrip {
  const results: unknown[][] = asked.map(() => [])
  let at = 0
  let prepared: Record<string, string> = {}
  let prepares = false
  let unreadable: unknown

  function send(connection: Connection): void {
    const { parsedStatements } = connection
    prepared = parsedStatements
    const sent = new Set<string>()
    for (const { name, text, shape, parameters } of asked) {
      if (name === '' || !(name in parsedStatements || sent.has(name))) {
        connection.parse({ name, text })
        prepares = true
        sent.add(name)
      }
      connection.bind({ statement: name, values: parameters })
      if (shape.columns === undefined) connection.describe({ type: 'P', name: '' })
      connection.execute({})
    }
    connection.sync()
  }

  /** What `pg` wants of a query (its `Submittable`, and the events of the protocol). */
  const query = {
    callback: undefined as ((error: unknown) => void) | undefined,
    submit(connection: Connection) {
      connection.stream.cork()
      try {
        send(connection)
      } finally {
        connection.stream.uncork()
      }
    },
    handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }) {
      asked[at]!.shape.columns = fields.map(({ name, dataTypeID }) => ({
        name,
        parse: pg.types.getTypeParser(dataTypeID, 'text') as Column['parse'],
      }))
    },
    handleDataRow({ fields }: { fields: (string | null)[] }) {
      try {
        results[at]!.push(toRow(asked[at]!.shape.columns!, fields))
      } catch (error) {
        unreadable ??= error
      }
    },
    handleCommandComplete() {
      const { name, text, shape } = asked[at++]!
      if (name !== '') prepared[name] = text
      shape.columns ??= []
    },
    handleReadyForQuery() {
      query.callback?.(unreadable ?? null)
    },
    handleError(error: unknown) {
      query.callback?.(error)
    },
  }

  return {
    on: async (client, limit) =>
      new Promise((resolve, reject) => {
        // In the words of `pg`, whose own limit assigns a function to a property.
        const end = waitAtMost(limit, () => reject(new Error('Query read timeout')))
        const callback = (error: unknown): void => {
          end()
          if (error === null) resolve(results)
          else reject(error)
        }
        query.callback = callback
        client.query(query as unknown as pg.Submittable)
      }),
    prepares: () => prepares,
  }
}

function toRow(columns: readonly Column[], fields: readonly (string | null)[]): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (let index = 0; index < columns.length; index++) {
    const { name, parse } = columns[index]!
    const text = fields[index]!
    row[name] = text === null ? null : parse(text)
  }
  return row
}
