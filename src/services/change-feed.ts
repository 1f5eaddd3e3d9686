/**
 * Learns by polling what other processes changed, and hands it to the caches. It also knows how old the caches
 * are: without a successful poll for a minute, nothing may be decided from them.
 */
import type { FastifyBaseLogger } from 'fastify'
import { OAuthError } from '../protocol/errors.ts'
import { changesSince, type ChangeKind, type ChangeRow } from '../store/changes.ts'
import type { Database } from '../store/database.ts'
import { createBackgroundLoop } from './background-loop.ts'

export interface ChangeFeed {
  /** `apply` runs for each change of this kind, ours included, also more than once. */
  on(kind: ChangeKind, apply: (change: Pick<ChangeRow, 'key' | 'expiresAt'>) => void | Promise<void>): void
  /** `reload` runs once for all changes of this kind that are read together, of which there may be thousands, with the keys of them. */
  onAny(kind: ChangeKind, reload: (keys: ReadonlySet<string>) => Promise<void>): void
  /** Applies a change of this very process at once, without waiting for the poll. */
  announce(kind: ChangeKind, key: string, expiresAt?: Date | null): Promise<void>
  /** The same of many that were made together. */
  announceAll(kind: ChangeKind, keys: readonly string[]): Promise<void>
  /** `reload` runs when the feed may have missed something: everything cached is then in doubt. */
  onGap(reload: () => Promise<void>): void
  /**
   * Throws `temporarily_unavailable` (503) when the last successful poll is 60 s past; also where that is so by the clock of the day alone,
   * as after the sleep of a machine, and the poll after it has failed.
   */
  assertFresh(): void
  /**
   * Undefined where there is nothing to wait for. A process that stood still, or whose machine slept, has missed its polls though nothing
   * failed: it polls now, and the promise is kept when it has, or could not. Never rejects.
   */
  catchUp(): Promise<void> | undefined
  /** Milliseconds since the epoch: the database's clock at the last poll that succeeded; 0 before the first. */
  databaseTime(): number
  /** Seconds since the last poll that succeeded; no number before the first. */
  age(): number | undefined
  /** Reads once, and from then on every half second. Throws when the first read fails. */
  start(): Promise<void>
  stop(): Promise<void>
}

const INTERVAL = 500
const STALE_AFTER = 60_000
/** Milliseconds: rows are read again this long after their time, for a database that has lost the latest transactions, whose numbers others get. */
const OVERLAP = 15_000
/** Far below the hour for which the janitor keeps what was written here. */
const GAP = 1_800_000
/** Milliseconds: the longest that a poll takes to fail, and the next one after it. */
const LATELY = 10_000
/** Milliseconds: polls that fail sooner do so by connections that had ended. */
const AT_ONCE = 1000

/** A change, or all there is after a gap, that was read. */
class NotApplied extends Error {
  constructor(cause: unknown) {
    super('it could not be applied', { cause })
  }
}

export function createChangeFeed(database: Database, log: FastifyBaseLogger): ChangeFeed {
  type Apply = (change: Pick<ChangeRow, 'key' | 'expiresAt'>) => void | Promise<void>
  const appliers = new Map<ChangeKind, Apply[]>()
  const reloaders = new Map<ChangeKind, ((keys: ReadonlySet<string>) => Promise<void>)[]>()
  const reloads: (() => Promise<void>)[] = []
  /** Ids read within the overlap, by the poll that read them. */
  let seen = new Map<string, number>()
  let databaseTime: Date | undefined
  /** What the last good poll saw. */
  let snapshot: string | null = null
  /** When the last good poll began, by `performance.now()`: a clock that is set makes nothing fresh or stale. */
  let freshAt = -Infinity
  /** The same by the clock of the day, which alone goes on while a machine sleeps. */
  let freshTime = -Infinity
  let failing = false
  let failedAt = -Infinity

  async function apply(changes: readonly Pick<ChangeRow, 'kind' | 'key' | 'expiresAt'>[]): Promise<void> {
    for (const change of changes) for (const one of appliers.get(change.kind) ?? []) await one(change)
    for (const [kind, some] of Map.groupBy(changes, (change) => change.kind)) {
      const keys = new Set(some.map(({ key }) => key))
      for (const reload of reloaders.get(kind) ?? []) await reload(keys)
    }
  }

  /** The change is stored; what fails here is done again by the next poll, which reads our own changes too. */
  async function applyNow(changes: Parameters<typeof apply>[0]): Promise<void> {
    await apply(changes).catch((error: unknown) =>
      log.warn({ err: error }, 'a change could not be applied at once'),
    )
  }

  async function poll(): Promise<void> {
    const [started, time] = [performance.now(), Date.now()]
    const since = new Date((databaseTime?.getTime() ?? Date.now()) - OVERLAP)
    const { now, changes, ...read } = await changesSince(database, { since, snapshot })
    try {
      if (databaseTime !== undefined && now.getTime() - databaseTime.getTime() > GAP)
        for (const reload of reloads) await reload()
      await apply(changes.filter(({ id }) => !seen.has(id)))
    } catch (error) {
      throw new NotApplied(error)
    }
    seen = new Map(changes.map((change) => [change.id, started]))
    databaseTime = now
    snapshot = read.snapshot
    freshAt = started
    freshTime = time
  }

  async function pollAndReport(): Promise<void> {
    try {
      await poll()
      if (failing) log.info('the database answers again, and changes of other processes are seen')
      failing = false
    } catch (error) {
      if (!failing)
        if (error instanceof NotApplied)
          log.error({ err: error.cause }, 'changes of other processes were read, and could not be applied')
        else
          log.error({ err: error }, 'the database does not answer: changes of other processes are not seen')
      failing = true
      failedAt = performance.now()
    }
  }

  const loop = createBackgroundLoop(pollAndReport, () => INTERVAL)
  const isStale = (): boolean => performance.now() - freshAt > STALE_AFTER
  const isLate = (): boolean => isStale() || Date.now() - freshTime > STALE_AFTER
  // A failure from before it stood still says nothing of now.
  const isBehind = (): boolean => isLate() && performance.now() - failedAt > LATELY
  /** For all who come before it is over. */
  let reading: Promise<void> | undefined

  async function readUp(): Promise<void> {
    const end = performance.now() + AT_ONCE
    // What was under way may have begun before, and each of the connections may have ended meanwhile.
    let most = database.connections().total + 1
    try {
      do await loop.now()
      while (isLate() && most-- > 0 && performance.now() < end)
    } finally {
      reading = undefined
    }
  }

  return {
    on(kind, apply) {
      appliers.set(kind, [...(appliers.get(kind) ?? []), apply])
    },
    onAny(kind, reload) {
      reloaders.set(kind, [...(reloaders.get(kind) ?? []), reload])
    },
    announce: async (kind, key, expiresAt = null) => applyNow([{ kind, key, expiresAt }]),
    announceAll: async (kind, keys) => applyNow(keys.map((key) => ({ kind, key, expiresAt: null }))),
    onGap(reload) {
      reloads.push(reload)
    },
    assertFresh() {
      if (isStale() || (failing && isLate())) {
        throw new OAuthError('temporarily_unavailable', 'the database has not answered for a while', {
          retryAfter: 5,
        })
      }
    },
    catchUp() {
      if (reading === undefined && isBehind()) reading = readUp()
      return reading
    },
    databaseTime: () => databaseTime?.getTime() ?? 0,
    age: () => (freshAt === -Infinity ? undefined : (performance.now() - freshAt) / 1000),
    async start() {
      await poll().catch((error: unknown) => {
        throw error instanceof NotApplied ? error.cause : error
      })
      loop.start()
    },
    stop: loop.stop,
  }
}
