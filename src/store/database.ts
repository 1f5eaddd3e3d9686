/**
 * The one way to the database: MikroORM for administration, and named statements for the hot path, on one pool of
 * connections. Retries what PostgreSQL asks to be retried; knows nothing of OAuth.
 */
import type { EntityManager } from '@mikro-orm/postgresql'
import pg from 'pg'
import { createBatches } from './batches.ts'
import { watchDistribution, type Distribution } from './distribution/watch.ts'
import type { Engine } from './engines.ts'
import { isLost, isRetryable } from './failures.ts'
import { borrow, createPool, endPool, onBorrowed, waitingFor, type Place } from './connections.ts'
import { retried } from './retries.ts'
import { STATEMENT_LIMIT } from './session-limits.ts'
import { tableOf, textOn, type Query, type Statement } from './statement.ts'
import type { Named } from './round-trip.ts'

export interface Database {
  /** Where it is, for people: no credentials. */
  readonly where: string
  /** On a connection of the pool, in a transaction of its own; run again, for up to 5 s, on 40001 and 40P01. */
  readonly query: Query
  /** All of `work` or nothing; run again like a query. `work` must use the query it is given. */
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T>
  /** The same promise for MikroORM: a fresh entity manager for each try. */
  transactional<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
  /** Reads by a fresh entity manager, and without a transaction; run again like a query. */
  reading<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
  /** The pool's, and those who wait for one. */
  connections(): { readonly total: number; readonly idle: number; readonly waiting: number }
  /** How it lies on several servers, as it was when it was opened; null on one. */
  readonly distribution: Distribution | null
  /** Throws while it does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface DatabaseOptions extends Place {
  /** Where it is, in words for people; by default host and name from the URL. */
  where?: string | undefined
  /** Connections. */
  poolSize?: number
  /** False where a pooler between us and PostgreSQL breaks prepared statements. */
  prepare?: boolean
  /**
   * How it is distributed; null, the default, for one server. What writes on several travels alone: they commit one after the other, and
   * not together.
   */
  engine?: Engine | null
}

/** Of every query, whatever its pool was told: how values are read, and how long it may take. */
const READING = { types: pg.types, query_timeout: STATEMENT_LIMIT }

/** Opens the database; it need not answer yet: connections are made when they are needed. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { poolSize = 10, prepare = true, engine = null, schema, where = describePlace(options) } = options
  const pool = options.pool ?? createPool(options.url!, poolSize)
  const table = tableOf(schema)
  let orm: ReturnType<typeof openOrm> | undefined
  // On a pool of somebody's, the same statement may be prepared for another schema, or the name be theirs.
  const prefix = options.pool === undefined ? '' : `latchkey.${schema ?? ''}.`
  const known = new Map<Statement<unknown>, Named>()
  const distribution = engine === null ? null : watchDistribution(pool, schema, engine)

  function named(statement: Statement<unknown>): Named {
    const had = known.get(statement)
    if (had !== undefined) return had
    const name = prepare ? prefix + statement.name : ''
    const made = { name, text: textOn(engine, statement, table), shape: {} }
    known.set(statement, made)
    return made
  }

  const nameOf: typeof named =
    distribution === null
      ? named
      : (statement) => {
          distribution.count(statement.name)
          return named(statement)
        }

  /** MikroORM is for who administers: it is large, and loaded when it is first asked for. */
  const fork = async (): Promise<EntityManager> => {
    orm ??= openOrm({ ...options, pool }).catch((error: unknown) => {
      orm = undefined
      throw error
    })
    return (await orm).em.fork() as EntityManager
  }

  const queryOn = (client: pg.Pool | pg.PoolClient): Query =>
    async function query<Row>(statement: Statement<Row>, values: readonly unknown[] = []): Promise<Row[]> {
      const { name, text } = nameOf(statement)
      const config = { text, values: values as unknown[], ...READING }
      const result = await client.query<Row & pg.QueryResultRow>(prepare ? { ...config, name } : config)
      return result.rows
    }

  const transaction = async <T>(work: (query: Query) => Promise<T>): Promise<T> => {
    const client = await borrow(pool)
    let broken = false
    try {
      await client.query({ text: 'begin', ...READING })
      const result = await work(queryOn(client))
      await client.query({ text: 'commit', ...READING })
      return result
    } catch (error) {
      // Where nothing is answered, nothing is rolled back by asking for it.
      broken =
        isLost(error) ||
        (await client.query({ text: 'rollback', ...READING }).then(
          () => false,
          () => true,
        ))
      throw error
    } finally {
      client.release(broken)
    }
  }

  const single: Query = async (statement, values) =>
    onBorrowed(pool, async (client) => queryOn(client)(statement, values))
  const alone = retrying(options.pool === undefined ? single : queryOn(pool))
  // What a pool of somebody's is made of is theirs to choose: its own queries are all that we ask of it.
  const batches =
    options.pool === undefined
      ? {
          'with readers': createBatches({ pool, nameOf, alone, limit: STATEMENT_LIMIT }),
          'with writers': createBatches({ pool, nameOf, alone, limit: STATEMENT_LIMIT }),
        }
      : undefined
  const travels = ({ travels: how }: Statement<unknown>) =>
    how === 'with writers' && engine !== null ? undefined : how
  const waitingInBatches = (): number =>
    Object.values(batches ?? {}).reduce((sum, { waiting }) => sum + waiting(), 0)
  const query: Query = (statement, values) => {
    const how = travels(statement)
    return batches === undefined || how === undefined
      ? alone(statement, values)
      : batches[how].query(statement, values)
  }

  return {
    where,
    query,
    transaction: (work) => retried(() => transaction(work)),
    transactional: (work) => retried(async () => (await fork()).transactional(work)),
    reading: (work) => retried(async () => work(await fork())),
    connections: () => ({
      total: pool.totalCount,
      idle: pool.idleCount,
      waiting: waitingFor(pool) + waitingInBatches(),
    }),
    distribution,
    ping: async () => {
      await onBorrowed(pool, async (client) => client.query({ text: 'select 1', ...READING }))
    },
    async close() {
      await (await orm)?.close(true)
      if (options.pool === undefined) await endPool(pool)
    },
  }
}

/** On the pool of `place`. */
async function openOrm(place: Place) {
  const [{ MikroORM }, { ormOptions }] = await Promise.all([
    import('@mikro-orm/postgresql'),
    import('./orm.ts'),
  ])
  // It borrows from the one pool that there is, its own stays empty.
  const borrowing = { ...ormOptions(place, 0, STATEMENT_LIMIT), connect: false }
  return MikroORM.init(borrowing as Parameters<typeof MikroORM.init>[0])
}

/** A statement that is a transaction has done nothing when it failed so. The others pay nothing for it. */
function retrying(query: Query): Query {
  return async (statement, values) =>
    query(statement, values).catch(async (error: unknown) => {
      if (!isRetryable(error)) throw error
      return retried(async () => query(statement, values))
    })
}

/** In words for people, without credentials. */
export function describePlace({ url, pool, schema }: Place): string {
  return `${url === undefined ? describePool(pool!) : describeUrl(url)}${schema === undefined ? '' : ` (${schema})`}`
}

function describeUrl(url: string): string {
  const { host, pathname, searchParams } = new URL(url)
  return `${searchParams.get('host') ?? host}${pathname}`
}

function describePool({ options: { connectionString, host = 'localhost', database = '' } }: pg.Pool): string {
  return connectionString === undefined ? `${host}/${database}` : describeUrl(connectionString)
}
