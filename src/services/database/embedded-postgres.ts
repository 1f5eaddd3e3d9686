/**
 * The database of a first run: the real PostgreSQL of the checkout's private workspace, on a Unix socket
 * only. This file owns the dance of starting, attaching and leaving; its neighbours know binaries, places and
 * processes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Account, chooseAccount } from './embedded-postgres/account.ts'
import { readyBinaries } from './embedded-postgres/binaries.ts'
import { createCluster } from './embedded-postgres/cluster.ts'
import { ensureDatabase, isAccepting } from './embedded-postgres/connection.ts'
import { type Hold, holdOpen } from './embedded-postgres/hold.ts'
import { logPath, lastComplaint } from './embedded-postgres/log.ts'
import { type Place, choosePlace } from './embedded-postgres/place.ts'
import { type Postmaster, abort, findPostmaster } from './embedded-postgres/postmaster.ts'
import { type Supervisor, launch } from './embedded-postgres/supervisor.ts'
import { type Fate, watchPostmaster } from './embedded-postgres/watch.ts'

const startTimeout = 60_000
const pollInterval = 10
const maximumFailures = 10

export interface EmbeddedPostgresOptions {
  /** The server's data directory; created when missing. The cluster becomes its subdirectory `postgres`. */
  dataDir: string
  /** Created when missing. */
  database?: string
  /**
   * Further settings of PostgreSQL for this run, e.g. `{ fsync: 'off' }` in tests; ignored when attaching.
   */
  settings?: Record<string, string>
}

export interface EmbeddedPostgres {
  /** Connection string for `pg`. */
  url: string
  /** Directory of the Unix socket. */
  host: string
  /** Where the cluster really lies. */
  dataDir: string
  /** This call made the cluster (it was the first start). */
  created: boolean
  /** The cluster could not lie in the given data directory; `dataDir` says where it is instead. */
  relocated: boolean
  /** This call started PostgreSQL, as opposed to attaching to one that another process had started. */
  owned: boolean
  /** Tells what becomes of it, until it is left. */
  watch(tell: Fate): void
  /** Leaves. The last process to leave shuts PostgreSQL down and waits until it has ended. */
  stop(): Promise<void>
}

/**
 * Starts PostgreSQL on the cluster in `dataDir`, or attaches to the one that already runs there. When every
 * process that uses it has ended, however it ended, PostgreSQL stops by itself.
 * @throws Error with one sentence for the operator: no binaries, no usable directory, or PostgreSQL's own
 * complaint
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, database = 'latchkey', settings = {} } = options
  const place = await choosePlace(dataDir, await chooseAccount())
  const binaries = await readyBinaries(place)
  const created = await createCluster(place, binaries)
  const session = await join(place, () => launch(place, binaries, settings))
  const host = session.postmaster.socketDir
  let stopWatching: (() => void) | undefined
  try {
    await ensureDatabase(host, database)
  } catch (cause) {
    await session.leave()
    throw new Error(`The database ${database} of the embedded PostgreSQL could not be created.`, { cause })
  }
  return {
    url: `postgresql://postgres@localhost/${encodeURIComponent(database)}?host=${encodeURIComponent(host)}`,
    host,
    dataDir: place.cluster,
    created,
    relocated: place.relocated,
    owned: session.owned,
    watch(tell) {
      stopWatching ??= watchPostmaster(place.cluster, session, tell)
    },
    async stop() {
      stopWatching?.()
      await session.leave()
    },
  }
}

interface Session {
  postmaster: Postmaster
  hold: Hold | undefined
  owned: boolean
  leave: () => Promise<void>
}

/**
 * Waits for a postmaster that accepts us; starts one whenever there is none. PostgreSQL's own lock file
 * decides who wins.
 */
async function join({ account, cluster }: Place, start: () => Promise<Supervisor>): Promise<Session> {
  const deadline = performance.now() + startTimeout
  let ours: Supervisor | undefined
  try {
    for (let failures = 0; performance.now() < deadline; await sleep(pollInterval)) {
      const postmaster = await findPostmaster(cluster)
      if (postmaster?.status === 'ready') {
        const own = ours?.socketDir === postmaster.socketDir ? ours.hold : undefined
        const hold = own ?? holdOpen(postmaster.socketDir)
        if (await isAccepting(postmaster.socketDir)) {
          if (own) await ours?.keepServing()
          else ours?.hold.release()
          return {
            postmaster,
            hold,
            owned: own !== undefined,
            leave: async () => leave(cluster, hold, account),
          }
        }
        if (!own) hold?.release()
      }
      if (ours?.ended()) {
        ours = undefined
        if (++failures === maximumFailures) break
        await sleep(10 * failures)
      } else if (!ours && !postmaster) ours = await start()
    }
  } catch (error) {
    ours?.hold.release()
    throw error
  }
  ours?.hold.release()
  throw new Error(
    `The embedded PostgreSQL did not start (${await lastComplaint(cluster)}): see ${logPath(cluster)}, ` +
      'or set DATABASE_URL to use a server of your own.',
  )
}

/** Lets go; when nobody else holds on, PostgreSQL is shutting down and this waits for its end. */
async function leave(cluster: string, hold: Hold | undefined, account: Account): Promise<void> {
  if (!hold) return
  hold.release()
  const patience = performance.now() + 20_000
  while (!hold.isOver()) {
    if (hold.isShared()) return
    if (hold.isAbandoned() || performance.now() > patience) {
      const postmaster = await findPostmaster(cluster)
      return postmaster && abort(postmaster, account)
    }
    await sleep(pollInterval)
  }
}
