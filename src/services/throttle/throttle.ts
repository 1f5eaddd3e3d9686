/**
 * Slows guessing down: who has failed too often is refused before anything is checked, so that a right guess is
 * refused too. Failures count, successes never do; they count for an account from a network, and for the network alone
 * (one password tried on many accounts), so the owner elsewhere is not locked out. Where a kind says so they count for the
 * account from all networks, too, but for who shows that they have succeeded before: they have a bound of their own.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { OAuthError } from '../../protocol/errors.ts'
import type { Database } from '../../store/database.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { shed } from '../shedding.ts'
import type { TellReached } from './reached-limits.ts'
import { isFull, isNews, isUntouched, type Bucket } from './throttle-bucket.ts'
import { assertLimits, LIMITS, type ThrottleLimits } from './throttle-limits.ts'
import { createTryBook, type Try } from './try-book.ts'
import { createThrottledEverywhere, type ThrottledEverywhere } from './throttled-everywhere.ts'

export interface Throttle {
  /**
   * Before anything is checked. `account` is whose secret is tried, known to us or not, in one spelling; null where
   * there is none, as when strangers register. `mark` is what only who succeeded at this account can show.
   *
   * Waits while those under way could use up what is left, and throws `temporarily_unavailable`: at a limit with 429 and
   * `Retry-After`, and with 503 where too many of its network wait. The attempt must be settled, also where what it is for fails; one that is not for a
   * minute is taken for abandoned.
   */
  attempt(account: string | null, address: string, mark?: string | null): Promise<Attempt>
}

/** Settled by the first of these that is called. */
export interface Attempt {
  /** Counts nothing, and forgives the account its failures from this network. */
  succeeded(): void
  /**
   * Counts, also while the database is away. Throws like `attempt` when other processes reached the limit meanwhile. With `network` false it
   * says nothing of who else tries from there: it counts for the account, and for the network by the limit `unanswered` alone.
   */
  failed(options?: { network?: boolean }): Promise<void>
  /** Nothing was found out: counts nothing. */
  abandoned(): void
}

/** Milliseconds after which an attempt that nobody settled gives its place back; and how long who waits for one does not look. */
const FORGOTTEN = 60_000
const LOOK = 1000

export interface Throttles {
  /** The throttle of this kind of attempt, such as `user`; a kind has one, and its limits are those of the first call. */
  throttle(kind: string, limits?: ThrottleLimits): Throttle
  start(): Promise<void>
  stop(): Promise<void>
}

/** Which limits an attempt is under. */
interface Terms {
  /** All of them must have one failure left. */
  readonly asked: readonly Bucket[]
  /**
   * Where its failure counts first, at its limit or not: whoever is referred there, once a bound of their own is used up, finds all that
   * it had let pass.
   */
  readonly beforehand?: readonly Bucket[]
  /** Where its failure counts: one source after the other, and no further than to the first that is at its limit. */
  readonly counted: readonly (readonly Bucket[])[]
  /** Where it is at its limit the answer is the refusal, in the place of what the check found out. */
  readonly binding: readonly Bucket[]
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
      assertLimits(kind, limits)
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
  const book = createTryBook(kind, limits, box)
  /** Those that are not settled, the oldest first, by when they began (`performance.now()`). */
  const open = new Map<Attempt, number>()

  function termsOf({ source, pair, everywhere: whole, marked }: Try, now: number): Terms {
    const here = [pair?.bucket, source.bucket, source.unanswered].filter((one) => one !== undefined)
    if (marked !== undefined && marked.freeAt <= now)
      return { asked: [marked], beforehand: here, counted: [[marked]], binding: [marked] }
    const all = whole === undefined ? here : [...here, whole]
    const trusted = pair !== undefined && pair.proven && isUntouched(pair.bucket, now)
    const counted = whole === undefined ? [here] : [here, [whole]]
    return { asked: trusted ? [pair.bucket] : all, counted, binding: all }
  }

  /** By the request whose failure it was: those that are refused from now on are told of by nobody. */
  function tellNews({ source, account, pair, everywhere: whole }: Try): void {
    const now = performance.now()
    const { ownerOf } = limits
    const ofNetwork = [source.bucket, source.unanswered].filter(
      (one) => one !== undefined && isNews(one, now),
    )
    if (ofNetwork.length > 0) tell({ kind, limit: 'network', account: null })
    if (pair !== undefined && isNews(pair.bucket, now)) tell({ kind, limit: 'account', account, ownerOf })
    if (whole !== undefined && isNews(whole, now)) tell({ kind, limit: 'everywhere', account, ownerOf })
  }

  /** Takes a place; or the limit that those under way could use up. Throws at a limit. */
  function admit(tried: Try): Attempt | Bucket {
    const now = performance.now()
    const { source, pair } = tried
    for (const bucket of [source.bucket, source.unanswered, pair?.bucket, tried.everywhere, tried.marked])
      if (bucket !== undefined) everywhere.refresh(bucket)
    const { asked, beforehand, counted, binding } = termsOf(tried, now)
    assertFree(asked, now)
    const full = asked.find((bucket) => isFull(bucket, now))
    if (full !== undefined) return full
    for (const bucket of asked) bucket.inFlight++
    const settles = (): boolean => open.delete(attempt)
    const release = (): void => asked.forEach(leave)
    const attempt: Attempt = {
      succeeded() {
        if (!settles()) return
        if (pair !== undefined) {
          pair.proven = true
          if (!isUntouched(pair.bucket, performance.now())) everywhere.forgive(pair.bucket)
        }
        release()
      },
      async failed({ network = true } = {}) {
        if (!settles()) return
        const spared = network ? source.unanswered : source.bucket
        const ofThis = (buckets: readonly Bucket[]) => buckets.filter((one) => one !== spared)
        const all = await count(counted.map(ofThis), beforehand && ofThis(beforehand)).finally(release)
        tellNews(tried)
        if (!all) assertFree(binding, performance.now())
      },
      abandoned() {
        if (settles()) release()
      },
    }
    open.set(attempt, now)
    return attempt
  }

  function abandonForgotten(): void {
    const before = performance.now() - FORGOTTEN
    for (const [attempt, began] of open) {
      if (began > before) return
      attempt.abandoned()
    }
  }

  /** Whether it counted everywhere. */
  async function count(groups: Terms['counted'], beforehand: Terms['beforehand']): Promise<boolean> {
    if (beforehand !== undefined) await everywhere.fail(beforehand)
    for (const buckets of groups) if (!(await everywhere.fail(buckets))) return false
    return true
  }

  return {
    async attempt(account, address, mark = null) {
      const tried = book.tryOf(account, address, mark)
      const { source } = tried
      for (;;) {
        const entered = admit(tried)
        if ('succeeded' in entered) return entered
        if (limits.waiting !== undefined && source.waiting >= limits.waiting) throw shed('passwords')
        source.waiting++
        const looks = new AbortController()
        const again = new Promise<void>((resolve) => entered.waiting.push(resolve))
        await Promise.race([
          again,
          sleep(LOOK, undefined, { signal: looks.signal, ref: false }).catch(() => {}),
        ])
        looks.abort()
        source.waiting--
        abandonForgotten()
      }
    },
  }
}

/** Gives a place back: who waits for one asks again, in the order of coming. */
function leave(bucket: Bucket): void {
  bucket.inFlight--
  const waiting = bucket.waiting
  bucket.waiting = []
  for (const again of waiting) again()
}

function assertFree(buckets: readonly Bucket[], now: number): void {
  const freeAt = Math.max(...buckets.map((bucket) => bucket.freeAt))
  if (freeAt <= now) return
  throw new OAuthError('temporarily_unavailable', 'there were too many attempts; try again later', {
    status: 429,
    retryAfter: Math.ceil((freeAt - now) / 1000),
  })
}
