/**
 * Where pages read what they only show: from the replica of DATABASE_REPLICA_URL as long as that is one of our database, and
 * close behind it; else from the primary, and the log says once why. What decides is never read here.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.ts'
import type { Database } from '../store/database.ts'
import { sqlState } from '../store/failures.ts'
import {
  identityOf, isSame, openReplica, positionNumber, statements, type Identity, type PrimaryPosition, type Replica, type ReplicaState,
} from '../store/replica.ts' // prettier-ignore
import type { Query } from '../store/statement.ts'
import { createBackgroundLoop } from './background-loop.ts'

/** Milliseconds between two looks at the replica: how closely its age is known. */
const INTERVAL = 1000
/** Moments of the primary that are remembered, one from each look. */
const MOMENTS = 120
/** Milliseconds: what is further behind than this is of no use to people. */
export const MOST_BEHIND = 60_000
/** Milliseconds: what is less far behind is as good as now. */
const NOW = 2000
const UNDEFINED_TABLE = '42P01'

/** What is read for one page. */
export interface Listing {
  /** From the replica, where it is good and the statement marked; what fails there is read from the primary. */
  readonly query: Query
  /** When what was read was so, where that is not now. */
  asOf(): { readonly time: Date; readonly seconds: number } | null
}

export interface Listings {
  /** For a page; not from a replica that lacks what was written until `position`. */
  open(position?: string): Promise<Listing>
  /** How far the log of the primary is, for `open` to show what was just written; null where all is read from the primary. */
  position(): Promise<string | null>
  /** Null where there is no replica. */
  state(): ListingState | null
  start(): void
  stop(): Promise<void>
}

export interface ListingState {
  readonly where: string
  /** Why it is not asked; null where it is. */
  readonly problem: string | null
  /** Seconds; null where that cannot be told. */
  readonly behind: number | null
}

type Settings = Pick<Config, 'DATABASE_REPLICA_URL' | 'DATABASE_SCHEMA' | 'DATABASE_PREPARE'>

/** A moment of the primary: how far its log was at an instant, in milliseconds since the epoch. */
interface Moment {
  readonly flushed: bigint
  readonly at: number
}

/** @internal */
export function createListings(database: Database, settings: Settings, log: FastifyBaseLogger): Listings {
  const { DATABASE_REPLICA_URL: url, DATABASE_SCHEMA: schema, DATABASE_PREPARE: prepare } = settings
  if (url !== undefined) return listingsBy(openReplica({ url, schema, prepare }), database, schema, log)
  const fromPrimary: Listing = { query: database.query, asOf: () => null }
  return {
    open: async () => fromPrimary,
    position: async () => null,
    state: () => null,
    start() {},
    async stop() {},
  }
}

function listingsBy(
  replica: Replica,
  database: Database,
  schema: string | undefined,
  log: FastifyBaseLogger,
): Listings {
  const moments: Moment[] = []
  let problem: string | null = 'it was not looked at yet'
  let said: string | undefined
  let behind: number | null = null
  let identity: Identity | undefined

  async function readPosition(): Promise<PrimaryPosition> {
    const [position] = await database.query(statements.position)
    moments.push({ flushed: positionNumber(position!.flushed), at: position!.at })
    if (moments.length > MOMENTS) moments.shift()
    return position!
  }

  /** In the log once, until it changes. */
  function judge(found: string | null): void {
    problem = found
    if (found === null) {
      if (said !== undefined) log.info({ replica: replica.where }, 'lists are read from the replica')
      said = undefined
    } else if (found !== said) {
      log.warn({ replica: replica.where }, `lists are read from the primary: the replica ${found}`)
      said = found
    }
  }

  /** Milliseconds; 0 for one that has all that there was. */
  function behindAt(now: number, { replayed, replayedAt }: ReplicaState): number {
    const has = positionNumber(replayed)
    const moment = moments.findLast(({ flushed }) => flushed <= has)
    const since = Math.max(moment?.at ?? 0, replayedAt ?? 0)
    return moment !== undefined && moment === moments.at(-1) ? 0 : Math.max(0, now - since)
  }

  /** How it is; null where it is not to be asked. Never throws. */
  async function look(): Promise<{ state: ReplicaState; behind: number } | null> {
    let at: number
    let ours: Identity
    try {
      at = (await readPosition()).at
      ours = identity ??= await identityOf(database.query, schema)
    } catch {
      // Without the primary nobody is let in to these pages.
      return null
    }
    try {
      const state = await replica.look()
      behind = null
      if (!state.isStandby) return refuse('takes writes itself, so it is none (any more)')
      if (!isSame(ours, state)) return refuse('is one of another database')
      if (state.lacking > 0) return refuse('lacks migrations of this version')
      const milliseconds = behindAt(at, state)
      behind = milliseconds / 1000
      if (milliseconds > MOST_BEHIND) return refuse('is more than a minute behind')
      judge(null)
      return { state, behind: milliseconds }
    } catch (error) {
      behind = null
      return refuse(describeFailure(error))
    }
  }

  function refuse(why: string): null {
    judge(why)
    return null
  }

  const loop = createBackgroundLoop(
    async () => void (await look()),
    () => INTERVAL,
  )

  function listing(behindBy: number, now: number): Listing {
    let isRead = false
    let hasFailed = false
    return {
      async query(statement, values) {
        if (statement.isShown !== true || hasFailed) return database.query(statement, values)
        try {
          const rows = await replica.query(statement, values)
          isRead = true
          return rows
        } catch (error) {
          hasFailed = true
          behind = null
          judge(describeFailure(error))
          return database.query(statement, values)
        }
      },
      asOf: () =>
        isRead && behindBy >= NOW
          ? { time: new Date(now - behindBy), seconds: Math.round(behindBy / 1000) }
          : null,
    }
  }

  const fromPrimary: Listing = { query: database.query, asOf: () => null }

  return {
    async open(position) {
      // The loop finds out when it is good again: nobody who opens a page waits for that.
      if (problem !== null) return fromPrimary
      const found = await look()
      if (found === null) return fromPrimary
      const wanted = position === undefined ? -1n : positionNumber(position)
      if (positionNumber(found.state.replayed) < wanted) return fromPrimary
      return listing(found.behind, moments.at(-1)!.at)
    },
    position: async () => (await readPosition()).written,
    state: () => ({ where: replica.where, problem, behind }),
    start: loop.start,
    async stop() {
      await loop.stop()
      await replica.close()
    },
  }
}

/** What one is like that has thrown this. */
export function describeFailure(error: unknown): string {
  const code = sqlState(error)
  return code === UNDEFINED_TABLE
    ? 'has no tables of ours'
    : `does not answer (${code ?? (error as Error).message})`
}
