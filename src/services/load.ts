/** How busy this process is at the moment, and how current its memory: for the metrics, and for pages about health. */
import type { Database } from '../store/database.ts'
import type { ChangeFeed } from './change-feed.ts'
import type { HashingQueue } from './hashing/hashing-queue.ts'

export interface Load {
  /** Database connections, and requests that wait for one. */
  readonly connections: { readonly total: number; readonly idle: number; readonly waiting: number }
  /** Passwords and secrets that are being hashed, and that wait for their turn. */
  readonly hashing: { readonly running: number; readonly waiting: number }
  /** Seconds since changes of other processes were last read; undefined before the first time. */
  readonly changesAge: number | undefined
}

/** @internal */
export function createLoad(database: Database, hashing: HashingQueue, feed: ChangeFeed): () => Load {
  return () => ({ connections: database.connections(), hashing: hashing.load(), changesAge: feed.age() })
}
