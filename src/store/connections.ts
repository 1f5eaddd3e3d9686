/**
 * Where our tables are: a database by its URL or by somebody's pool, and in it a schema. How a pool that is not ours
 * is used without changing it, by us or by MikroORM, is decided here.
 */
import { Socket } from 'node:net'
import pg from 'pg'
import { connectionOf } from '../protocol/connection-url.ts'
import { isLost } from './failures.ts'
import { waitAtMost } from './patience.ts'
import { createRetirement, type Retirement } from './retiring.ts'
import { limitSession, STATEMENT_LIMIT } from './session-limits.ts'

/** Milliseconds that a request waits for a connection, and that a socket has to open. */
const WAIT = 2000
/** Milliseconds in which PostgreSQL says that a new connection is ready. Nobody waits so long, but its place does. */
const READY_WAIT = 30_000
/** Milliseconds in which a connection on its own is ready, and what `pg` says when it is not. */
const FIRST_WAIT = 5000
const GIVEN_UP = 'timeout expired'

export interface Place {
  /** What `pg` connects to; or else `pool`. */
  url?: string | undefined
  /** Somebody else's connections: borrowed one by one, never ended. */
  pool?: pg.Pool | undefined
  /** One that is open already, for what is asked in a row: PostgreSQL takes longer to open one than to answer. */
  client?: pg.ClientBase | undefined
  /** The schema of our tables; by default the first of the connection's `search_path`, as a rule `public`. */
  schema?: string | undefined
}

/** Whoever is at the other end takes what we send, or nobody does, and nothing comes back. */
class Unanswered extends Error {
  readonly code = 'ETIMEDOUT'
  readonly syscall = 'connect'

  constructor({ host, port }: pg.Client) {
    super(
      `${host}:${port} has not answered for ${FIRST_WAIT / 1000} s; see that PostgreSQL is there, and that no firewall is between`,
    )
  }
}

/** `name`, in the place's schema where it has one. */
export function qualified({ schema }: Place, name: string): string {
  return schema === undefined ? `"${name}"` : `"${schema}"."${name}"`
}

/** A connection on its own, for `work`; or the one that is there. */
export async function withClient<T>(place: Place, work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  if (place.client !== undefined) return work(place.client)
  if (place.pool !== undefined) {
    const client = await borrow(place.pool)
    try {
      return await work(client)
    } finally {
      client.release()
    }
  }
  const client = new pg.Client({ ...connectionOf(place.url!), connectionTimeoutMillis: FIRST_WAIT })
  client.on('error', ignore)
  await client.connect().catch((error: unknown) => {
    throw (error as Error).message === GIVEN_UP ? new Unanswered(client) : error
  })
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** What is known of a pool that is ours. */
interface OwnPool {
  readonly retirement: Retirement
  readonly sockets: ReadonlySet<Socket>
  waiting: number
}

const own = new WeakMap<pg.Pool, OwnPool>()

/**
 * A connection of `pool`, until it is released; released as broken, its place stays taken until its backend is gone. One that
 * breaks meanwhile fails the query under way, and not the process: who holds a connection has to listen, and from the call
 * on that hands it over. What ends it may come in one piece with what says that it is ready, before a promise's turn.
 */
export async function borrow(pool: pg.Pool): Promise<pg.PoolClient> {
  const ours = own.get(pool)
  return new Promise((resolve, reject) => {
    const endOfWait = ours && startWait(ours, reject)
    pool.connect((error, client) => {
      if (endOfWait?.() === 'late') handOn(client, ours?.retirement)
      else if (client === undefined) reject(error)
      else resolve(handOver(client, ours?.retirement))
    })
  })
}

/** Gives up after a while; what it returns tells whether it did, and ends it. */
function startWait(ours: OwnPool, giveUp: (error: Error) => void): () => 'late' | 'in time' {
  let outcome: 'late' | 'in time' = 'in time'
  const end = waitAtMost(WAIT, () => {
    outcome = 'late'
    ours.waiting--
    giveUp(new Error('timeout exceeded when trying to connect'))
  })
  ours.waiting++
  return () => {
    if (outcome === 'in time') ours.waiting--
    end()
    return outcome
  }
}

/**
 * What comes to nobody is there for the next: in a turn of its own, since after a long stall thousands stand in line that
 * have given up, and each would else be called from within the one before.
 */
function handOn(client: pg.PoolClient | undefined, retirement: Retirement | undefined): void {
  if (client === undefined) return
  const held = handOver(client, retirement)
  process.nextTick(() => held.release())
}

function handOver(client: pg.PoolClient, retirement: Retirement | undefined): pg.PoolClient {
  const { release } = client
  // Not assigned as it is written: see round-trip.ts.
  const handBack: typeof release = (broken) => {
    const free = (): void => {
      client.off('error', ignore)
      client.release = release
      release.call(client, broken)
    }
    if (broken && retirement !== undefined) retirement.retire(client, free)
    else free()
  }
  client.on('error', ignore)
  client.release = handBack
  return client
}

/** Runs `work` on a connection of `pool`, which then goes back, or goes. */
export async function onBorrowed<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await borrow(pool)
  try {
    const result = await work(client)
    client.release()
    return result
  } catch (error) {
    client.release(isLost(error))
    throw error
  }
}

/** Requests that wait for a connection. */
export function waitingFor(pool: pg.Pool): number {
  return own.get(pool)?.waiting ?? pool.waitingCount
}

/** Connections of our own: `size` at most, also while PostgreSQL does not answer. */
export function createPool(url: string, size: number): pg.Pool {
  const sockets = new Set<Socket>()
  const options = { keepAlive: true, application_name: 'latchkey', ...connectionOf(url) }
  const pool = new pg.Pool({
    ...options,
    max: size,
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: READY_WAIT,
    stream: () => createSocket(sockets),
  })
  // It waits for that, though its types do not know.
  Object.assign(pool.options, { onConnect: limitSession })
  const open = async (): Promise<pg.Client> => {
    const client = new pg.Client({
      ...options,
      connectionTimeoutMillis: WAIT,
      query_timeout: STATEMENT_LIMIT,
    })
    client.on('error', ignore)
    await client.connect()
    return client
  }
  // An idle one that breaks is gone from the pool already; unheard, the event would end the process.
  pool.on('error', ignore)
  own.set(pool, { retirement: createRetirement(open), sockets, waiting: 0 })
  return pool
}

/** Ends a pool of ours. What has no answer a second later is left without one. */
export async function endPool(pool: pg.Pool): Promise<void> {
  const { retirement, sockets } = own.get(pool)!
  const ended = pool.end()
  retirement.close()
  const timer = setTimeout(() => sockets.forEach((socket) => socket.destroy()), 1000)
  await ended
  clearTimeout(timer)
}

/** As long as nobody is at its other end, no backend can have come of it. */
function createSocket(sockets: Set<Socket>): Socket {
  const socket = new Socket()
  const end = waitAtMost(WAIT, () => {
    socket.destroy(new Error('timeout exceeded when trying to connect'))
  })
  socket.once('connect', end)
  socket.once('close', () => {
    end()
    sockets.delete(socket)
  })
  sockets.add(socket)
  return socket
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
    let lost: unknown
    const release = (broken?: boolean): void => {
      if (lent) client.release(broken)
      lent = false
    }
    return {
      release,
      async query(text: string, values: unknown[]) {
        // What would roll back has nothing to do it on.
        if (lost !== undefined) throw lost
        try {
          return await client.query({ text, values, ...limits } as pg.QueryConfig)
        } catch (error) {
          if (isLost(error)) lost = error
          // Kysely gives no connection back whose transaction could neither begin nor be rolled back.
          if (lost !== undefined || /^(?:begin|start transaction|rollback)\b/.test(text)) release(true)
          throw error
        }
      },
    }
  }

  Object.assign(created, { connect, end: async () => {} })
}

function ignore(): void {}
