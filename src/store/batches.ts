/**
 * Statements of many requests in one trip. Those that come while others are under way go together, and are committed
 * together: one wake-up, one system call and one commit serve them all (docs/adr/0019). When one of them fails, nothing of
 * its batch has happened, and each is run again on its own.
 */
import pg from 'pg'
import { prepareValue } from 'pg/lib/utils.js'
import { borrow } from './connections.ts'
import type { Query, Statement } from './statement.ts'
import { isElsewhere, isLost, isRetryable, isUnavailable } from './failures.ts'
import { createRoundTrip, type Asked, type Named } from './round-trip.ts'

/** Batches of one kind that may be under way: with more, each is smaller. */
const LANES = 2
/** Statements: their rows stay locked until all of a batch are done. */
const MAX_BATCH = 64
/** Milliseconds. A batch that takes longer waits for something; then others do not wait for it. */
const PATIENCE = 25

export interface BatchesOptions {
  pool: pg.Pool
  nameOf: <Row>(statement: Statement<Row>) => Named
  /** Runs one statement in a transaction of its own. */
  alone: Query
  /** Milliseconds that a batch may take. */
  limit: number
}

export interface Batches {
  readonly query: Query
  /** Statements that wait for their batch to start. */
  waiting(): number
}

interface Waiting extends Asked {
  readonly statement: Statement<unknown>
  readonly values: readonly unknown[]
  readonly resolve: (rows: unknown[]) => void
  readonly reject: (error: unknown) => void
}

/** Statements of one kind, reading or writing: those that read do not wait for a commit. */
export function createBatches({ pool, nameOf, alone, limit }: BatchesOptions): Batches {
  let waiting: Waiting[] = []
  const underWay = new Set<{ began: number }>()
  let scheduled = false
  let patience: NodeJS.Timeout | undefined

  function mayStart(): boolean {
    const now = performance.now()
    let prompt = 0
    for (const { began } of underWay) if (now - began < PATIENCE) prompt++
    return prompt < LANES
  }

  function start(): void {
    scheduled = false
    while (waiting.length > 0 && mayStart()) {
      const batch = waiting.slice(0, MAX_BATCH)
      waiting = waiting.slice(MAX_BATCH)
      void run(batch)
    }
    if (waiting.length > 0) patience ??= setTimeout(startLate, PATIENCE)
  }

  function startLate(): void {
    patience = undefined
    start()
  }

  /** After what this turn of the event loop has brought, which goes together. */
  function schedule(): void {
    if (scheduled) return
    scheduled = true
    setImmediate(start)
  }

  async function run(batch: Waiting[]): Promise<void> {
    const lane = { began: performance.now() }
    underWay.add(lane)
    try {
      // Rows are locked in one order, so that batches do not wait for each other in a ring.
      if (batch.length > 1) batch.sort(byFirstValue)
      const results = await travel(batch)
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
    } catch (error) {
      if (didNothing(error) && (batch.length > 1 || isRetryable(error))) {
        for (const { statement, values, resolve, reject } of batch)
          alone(statement, values).then(resolve, reject)
      } else for (const { reject } of batch) reject(error)
    } finally {
      underWay.delete(lane)
      if (waiting.length > 0) schedule()
    }
  }

  async function travel(batch: readonly Asked[]): Promise<unknown[][]> {
    const client = await borrow(pool)
    const trip = createRoundTrip(batch)
    try {
      const rows = await trip.on(client, limit)
      client.release()
      return rows
    } catch (error) {
      // What it has prepared is not known, or whether it lives.
      client.release(trip.prepares() || isLost(error))
      throw error
    }
  }

  return {
    async query<Row>(statement: Statement<Row>, values: readonly unknown[] = []): Promise<Row[]> {
      const parameters = values.map((value) => prepareValue(value))
      return new Promise<Row[]>((resolve, reject) => {
        waiting.push({
          ...nameOf(statement),
          statement,
          values,
          parameters,
          resolve: resolve as Waiting['resolve'],
          reject,
        })
        if (waiting.length === 1 && mayStart()) schedule()
      })
    },
    waiting: () => waiting.length,
  }
}

/** PostgreSQL refused a statement, and not the connection: then all of its transaction is undone. */
function didNothing(error: unknown): boolean {
  return (
    error instanceof pg.DatabaseError && (isRetryable(error) || !isUnavailable(error) || isElsewhere(error))
  )
}

function byFirstValue({ parameters: [one] }: Asked, { parameters: [other] }: Asked): number {
  return one === other ? 0 : String(one) < String(other) ? -1 : 1
}
