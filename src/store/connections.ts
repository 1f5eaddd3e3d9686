/**
 * Where our tables are: a database by its URL or by somebody's pool, and in it a schema. How a pool that is not ours
 * is used without changing it, by us or by MikroORM, is decided here.
 */
import pg from 'pg'

export interface Place {
  /** What `pg` connects to; or else `pool`. */
  url?: string | undefined
  /** Somebody else's connections: borrowed one by one, never ended. */
  pool?: pg.Pool | undefined
  /** The schema of our tables; by default the first of the connection's `search_path`, as a rule `public`. */
  schema?: string | undefined
}

/** `name`, in the place's schema where it has one. */
export function qualified({ schema }: Place, name: string): string {
  return schema === undefined ? `"${name}"` : `"${schema}"."${name}"`
}

/** A connection on its own, for `work`. */
export async function withClient<T>(place: Place, work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  if (place.pool !== undefined) {
    const client = await borrow(place.pool)
    try {
      return await work(client)
    } finally {
      client.release()
    }
  }
  const client = new pg.Client({ connectionString: place.url, connectionTimeoutMillis: 5000 })
  client.on('error', ignore)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/**
 * A connection of `pool`, until it is released. One that breaks meanwhile fails the query under way, and not the
 * process: who holds a connection has to listen, and from the call on that hands it over. What ends it may come in one
 * piece with what says that it is ready, before a promise's turn.
 */
export async function borrow(pool: pg.Pool): Promise<pg.PoolClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error)
      const { release } = client
      // Not assigned as it is written: see trip.ts.
      const handBack: typeof release = (broken) => {
        client.off('error', ignore)
        client.release = release
        release.call(client, broken)
      }
      client.on('error', ignore)
      client.release = handBack
      resolve(client)
    })
  })
}

/** Connections of our own: `size` at most. How long a statement may take, each of them says. */
export function createPool(url: string, size: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: 2000,
    keepAlive: true,
    application_name: 'latchkey',
  })
  // An idle one that breaks is gone from the pool already; unheard, the event would end the process.
  pool.on('error', ignore)
  return pool
}

/**
 * Makes the pool that MikroORM created for itself, and has not connected, borrow from `pool`. Values are read as
 * MikroORM reads them, whatever `pool` was told; a statement has `queryTimeout` milliseconds.
 */
export function lend(pool: pg.Pool, created: pg.Pool, queryTimeout: number): void {
  const { types } = created.options
  const limits = { types, ...(queryTimeout > 0 ? { query_timeout: queryTimeout } : {}) }

  async function connect(): Promise<Pick<pg.PoolClient, 'release'> & { query: unknown }> {
    const client = await borrow(pool)
    let lent = true
    const release = (broken?: boolean): void => {
      if (lent) client.release(broken)
      lent = false
    }
    return {
      release,
      async query(text: string, values: unknown[]) {
        try {
          return await client.query({ text, values, ...limits } as pg.QueryConfig)
        } catch (error) {
          // Kysely gives no connection back whose transaction could neither begin nor be rolled back.
          if (/^(?:begin|start transaction|rollback)\b/.test(text)) release(true)
          throw error
        }
      },
    }
  }

  Object.assign(created, { connect, end: async () => {} })
}

function ignore(): void {}
