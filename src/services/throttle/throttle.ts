/**
 * Slows guessing down: who has failed too often is refused before anything is checked, so that a right guess is
 * refused too. Failures count, successes never do; they count for an account from a network, and for the network alone
 * (one password tried on many accounts), so the owner elsewhere is not locked out.
 */
import type { FastifyBaseLogger } from 'fastify'
import { hash } from 'node:crypto'
import { OAuthError } from '../../protocol/errors.ts'
import { networkOf } from '../../protocol/network.ts'
import type { Database } from '../../store/database.ts'
import { EVERY_ACCOUNT } from '../../store/throttles.ts'
import { createBoundedCache } from '../bounded-cache.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { shed } from '../shedding.ts'
import type { TellReached } from './reached-limits.ts'
import {
  createBucket,
  failuresLeft,
  isNews,
  isUntouched,
  type Bucket,
  type Limit,
} from './throttle-bucket.ts'
import { createThrottledEverywhere, type ThrottledEverywhere } from './throttled-everywhere.ts'

export interface Throttle {
  /**
   * Before anything is checked. `account` is whose secret is tried, known to us or not, in one spelling; null where
   * there is none, as when strangers register. Waits while those under way could use up what is left, and throws
   * `temporarily_unavailable`: at a limit with 429 and `Retry-After`, and with 503 where too many of its network wait. The
   * attempt must be settled.
   */
  attempt(account: string | null, address: string): Promise<Attempt>
}

/** Settled by the first of these that is called. */
export interface Attempt {
  /** Counts nothing, and forgives the account its failures from this network. */
  succeeded(): void
  /** Counts, also while the database is away. Throws like `attempt` when other processes reached the limit meanwhile. */
  failed(): Promise<void>
  /** Nothing was found out: counts nothing. */
  abandoned(): void
}

export interface ThrottleLimits {
  /** For one account from one network: an IPv4 address, an IPv6 /64. */
  readonly account: Limit
  /** For one network, whatever the account. */
  readonly network: Limit
  /** Attempts of one network that may wait for those under way; as many as come where it is not said. */
  readonly waiting?: number
}

export interface Throttles {
  /** The throttle of this kind of attempt, such as `user`; a kind has one, and its limits are those of the first call. */
  throttle(kind: string, limits?: ThrottleLimits): Throttle
  start(): Promise<void>
  stop(): Promise<void>
}

export const LIMITS: ThrottleLimits = {
  account: { failures: 20, recovery: 10 },
  network: { failures: 40, recovery: 5 },
}
const MAX_ENTRIES = 20_000
/** Longer names are kept by their digest. */
const LONG = 100

interface Source {
  readonly key: () => string
  readonly bucket: Bucket
  /** Attempts that wait for those under way: each is asked again, and says whether it waits no longer. */
  waiting: (() => boolean)[]
}

interface Pair {
  readonly source: Source
  readonly bucket: Bucket
  /** Whether the account has succeeded from here: then a neighbour who tries many accounts does not lock it out. */
  proven: boolean
}

/** @internal */
export interface ThrottlesOptions {
  database: Database
  box: SecretBox
  log: FastifyBaseLogger
  tell: TellReached
}

/** @internal */
export function createThrottles({ database, box, log, tell }: ThrottlesOptions): Throttles {
  const everywhere = createThrottledEverywhere(database, log)
  const kinds = new Map<string, Throttle>()
  return {
    throttle(kind, limits = LIMITS) {
      const throttle = kinds.get(kind) ?? createThrottle(kind, limits, { everywhere, box, tell })
      kinds.set(kind, throttle)
      return throttle
    },
    start: everywhere.start,
    stop: everywhere.stop,
  }
}

function createThrottle(
  kind: string,
  limits: ThrottleLimits,
  { everywhere, box, tell }: Pick<ThrottlesOptions, 'box' | 'tell'> & { everywhere: ThrottledEverywhere },
): Throttle {
  const sources = createBoundedCache<Source>(MAX_ENTRIES)
  const pairs = createBoundedCache<Pair>(MAX_ENTRIES)

  function sourceOf(network: string): Source {
    const had = sources.get(network)
    if (had !== undefined) return had
    let hashed: string | undefined
    const key = (): string => (hashed ??= box.hash(`throttled network\0${kind}\0${network}`))
    const bucket = createBucket(limits.network, () => ({ source: key(), account: EVERY_ACCOUNT }))
    const source: Source = { key, bucket, waiting: [] }
    sources.set(network, source)
    return source
  }

  function pairOf(source: Source, network: string, account: string): Pair {
    const name = `${network}\0${account.length > LONG ? hash('sha256', account) : account}`
    const had = pairs.get(name)
    if (had !== undefined) return had
    let hashed: string | undefined
    const key = (): string => (hashed ??= box.hash(`throttled account\0${kind}\0${account}`))
    const bucket = createBucket(limits.account, () => ({ source: source.key(), account: key() }))
    const pair: Pair = { source, bucket, proven: false }
    pairs.set(name, pair)
    return pair
  }

  /** By the request whose failure it was: those that are refused from now on are told of by nobody. */
  function tellNews(source: Source, account: string | null, pair: Pair | undefined): void {
    const now = performance.now()
    if (isNews(source.bucket, now)) tell({ kind, limit: 'network', account: null })
    if (pair !== undefined && isNews(pair.bucket, now)) tell({ kind, limit: 'account', account })
  }

  /** Takes a place; undefined while those under way could use up what is left. Throws at a limit. */
  function admit(source: Source, account: string | null, pair: Pair | undefined): Attempt | undefined {
    const now = performance.now()
    const all = pair === undefined ? [source.bucket] : [pair.bucket, source.bucket]
    for (const bucket of all) everywhere.refresh(bucket)
    const trusted = pair !== undefined && pair.proven && isUntouched(pair.bucket, now)
    const asked = trusted ? [pair.bucket] : all
    assertFree(asked, now)
    if (asked.some((bucket) => bucket.inFlight >= failuresLeft(bucket, now))) return undefined
    for (const bucket of asked) bucket.inFlight++
    let settled = false
    const release = (): void => {
      for (const bucket of asked) bucket.inFlight--
      source.waiting = source.waiting.filter((waitsNoLonger) => !waitsNoLonger())
    }
    return {
      succeeded() {
        if (settled) return
        settled = true
        if (pair !== undefined) {
          pair.proven = true
          if (!isUntouched(pair.bucket, performance.now())) everywhere.forgive(pair.bucket)
        }
        release()
      },
      async failed() {
        if (settled) return
        settled = true
        const counted = await everywhere.fail(all).finally(release)
        tellNews(source, account, pair)
        if (!counted) assertFree(all, performance.now())
      },
      abandoned() {
        if (settled) return
        settled = true
        release()
      },
    }
  }

  return {
    async attempt(account, address) {
      const network = networkOf(address)
      const source = sourceOf(network)
      const pair = account === null ? undefined : pairOf(source, network, account)
      const enter = (): Attempt | undefined => admit(source, account, pair)
      const attempt = enter()
      if (attempt !== undefined) return attempt
      if (limits.waiting !== undefined && source.waiting.length >= limits.waiting) throw shed('passwords')
      return waitFor(source, enter)
    },
  }
}

function assertFree(buckets: readonly Bucket[], now: number): void {
  const freeAt = Math.max(...buckets.map((bucket) => bucket.freeAt))
  if (freeAt <= now) return
  throw new OAuthError('temporarily_unavailable', 'there were too many failures; try again later', {
    status: 429,
    retryAfter: Math.ceil((freeAt - now) / 1000),
  })
}

async function waitFor(source: Source, admit: () => Attempt | undefined): Promise<Attempt> {
  return new Promise((resolve, reject) => {
    source.waiting.push(() => {
      try {
        const attempt = admit()
        if (attempt === undefined) return false
        resolve(attempt)
      } catch (error) {
        reject(error)
      }
      return true
    })
  })
}
