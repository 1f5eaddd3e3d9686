// Holds one issuer's keys and decides when to fetch them again, so that a new key is found in time, an issuer that is
// away is survived, and made-up key ids cost next to nothing. How keys are fetched is its caller's business.
import { setTimeout as sleep } from 'node:timers/promises'
import { BearerError, VerificationUnavailable } from './bearer-error.ts'
import type { VerificationKey } from './verification-keys.ts'

/** What one fetch brought. Both durations are in milliseconds. */
export interface KeySnapshot {
  readonly keys: readonly VerificationKey[]
  /** For how long the issuer says that it may be kept; undefined when it does not say. */
  readonly lifetime: number | undefined
  /** How old the answer was when it came, because a cache on the way held it. */
  readonly age: number
}

export interface KeyCacheOptions {
  /** Rejects when the keys cannot be had. */
  readonly fetch: () => Promise<KeySnapshot>
  /** Milliseconds for which old keys still serve while the issuer is away. */
  readonly staleIfError: number
  /** Milliseconds between two fetches on account of unknown key ids. */
  readonly cooldown: number
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Ends a wait early, when the app closes. */
  readonly signal: AbortSignal
  readonly onFetched: (
    keys: readonly VerificationKey[],
    change: { first: boolean; changed: boolean; back: boolean },
  ) => void
  readonly onFailed: (cause: unknown, state: { failures: number; serving: boolean }) => void
}

const LIFETIME = { shortest: 10_000, usual: 300_000, longest: 3_600_000 }
/** The share of their lifetime after which keys are fetched anew behind the request that finds them that old. */
const REFRESH_AHEAD = 0.8
const BACK_OFF = { first: 500, longest: 10_000 }
/** After so many searches in a row that brought nothing, an unknown key id is not waited for any more. */
const PATIENCE = 2
/** Searches longer ago than this many cooldowns are no longer held against a token. */
const PATIENCE_RETURNS = 15

export class KeyCache {
  readonly #options: KeyCacheOptions
  #keys: readonly VerificationKey[] = []
  /** The keys are what the issuer published at this instant, or later. */
  #asOf = -Infinity
  #refreshAt = -Infinity
  #freshUntil = -Infinity
  #failures = 0
  #retryAt = -Infinity
  #searchedAt = -Infinity
  #fruitless = 0
  #inFlight: Promise<boolean> | undefined
  #nextSearch: Promise<boolean> | undefined

  constructor(options: KeyCacheOptions) {
    this.#options = options
  }

  /** Fetches the keys, or joins the fetch that is under way. Resolves to whether it succeeded. */
  refresh(): Promise<boolean> {
    this.#inFlight ??= this.#fetch().finally(() => {
      this.#inFlight = undefined
    })
    return this.#inFlight
  }

  /**
   * The key of this id that makes signatures of this algorithm.
   * @param signedBy the last millisecond, by the issuer's clock, at which the token may have been signed
   * @throws {BearerError} `invalid_token` when the issuer has no such key
   * @throws {VerificationUnavailable} when that cannot be found out now
   */
  async get(kid: string, algorithm: string, signedBy: number): Promise<VerificationKey> {
    const seenAt = this.#options.now()
    // Before the keys' own instant: the clock has been set back, so their age says nothing.
    if (seenAt >= this.#refreshAt || seenAt < this.#asOf) await this.#freshen(seenAt)
    return this.#lookUp(kid, algorithm) ?? this.#search(kid, algorithm, signedBy, seenAt)
  }

  #lookUp(kid: string, algorithm: string): VerificationKey | undefined {
    return this.#keys.find((key) => key.kid === kid && key.fits(algorithm))
  }

  async #freshen(now: number): Promise<void> {
    const refresh = this.#inFlight ?? (this.#isBackingOff(now) ? undefined : this.refresh())
    // Known to be away: the old keys serve at once, and nobody waits for a server that may well hang.
    const servesMeanwhile = now < this.#freshUntil || (this.#failures > 0 && this.#isUsable(now))
    if (!servesMeanwhile) await refresh
    if (!this.#isUsable(this.#options.now())) throw this.#unavailable()
  }

  #isUsable(now: number): boolean {
    return now < this.#freshUntil + this.#options.staleIfError
  }

  #isBackingOff(now: number): boolean {
    const remaining = this.#retryAt - now
    return this.#failures > 0 && remaining > 0 && remaining <= BACK_OFF.longest
  }

  async #search(kid: string, algorithm: string, signedBy: number, seenAt: number): Promise<VerificationKey> {
    while (this.#inFlight !== undefined) {
      if (!(await this.#inFlight)) throw this.#unavailable()
      const key = this.#lookUp(kid, algorithm)
      if (key !== undefined) return key
      if (this.#asOf >= seenAt) throw unknownKey()
    }
    const now = this.#options.now()
    if (this.#isBackingOff(now)) throw this.#unavailable()
    const { cooldown } = this.#options
    const wait = this.#searchedAt + cooldown - now
    if (this.#failures === 0 && wait > 0 && wait <= cooldown) {
      // The keys were fetched after this token was signed, a moment ago: its key is not among them.
      if (this.#asOf > signedBy) throw unknownKey()
      // The key may have been published since, so this is not the token's fault.
      if (this.#fruitless >= PATIENCE) throw new VerificationUnavailable({ retryAfter: wait / 1000 })
      this.#nextSearch ??= this.#searchAfter(wait)
    }
    if (!(await (this.#nextSearch ?? this.#fetchForSearch()))) throw this.#unavailable()
    const key = this.#lookUp(kid, algorithm)
    if (key !== undefined) return key
    // Only a cache on the way can have made the answer older than the question.
    if (this.#asOf < seenAt && this.#asOf <= signedBy) throw this.#unavailable()
    throw unknownKey()
  }

  async #searchAfter(wait: number): Promise<boolean> {
    try {
      await sleep(wait, undefined, { signal: this.#options.signal })
      this.#nextSearch = undefined
      return await this.#fetchForSearch()
    } catch {
      return false
    }
  }

  async #fetchForSearch(): Promise<boolean> {
    const now = this.#options.now()
    if (now - this.#searchedAt > PATIENCE_RETURNS * this.#options.cooldown) this.#fruitless = 0
    this.#searchedAt = now
    const before = this.#keys
    const fetched = await this.refresh()
    this.#fruitless = sameKeys(before, this.#keys) ? this.#fruitless + 1 : 0
    return fetched
  }

  async #fetch(): Promise<boolean> {
    const { fetch, now, onFetched, onFailed } = this.#options
    const startedAt = now()
    try {
      const snapshot = await fetch()
      const before = this.#keys
      const change = { first: this.#asOf === -Infinity, back: this.#failures > 0 }
      this.#accept(snapshot, startedAt)
      onFetched(this.#keys, { ...change, changed: !sameKeys(before, this.#keys) })
      return true
    } catch (cause) {
      this.#failures++
      const backOff = Math.min(BACK_OFF.longest, BACK_OFF.first * 2 ** (this.#failures - 1))
      this.#retryAt = now() + backOff
      onFailed(cause, { failures: this.#failures, serving: this.#isUsable(now()) })
      return false
    }
  }

  #accept({ keys, lifetime, age }: KeySnapshot, startedAt: number): void {
    const stated = Math.min(lifetime ?? LIFETIME.usual, LIFETIME.longest) - age
    const bounded = Math.max(stated, LIFETIME.shortest)
    // A key that stays keeps its object: tokens already checked with it need not be checked again.
    this.#keys = keys.map((key) => this.#keys.find((known) => known.equals(key)) ?? key)
    this.#asOf = startedAt - age
    this.#refreshAt = startedAt + bounded * REFRESH_AHEAD
    this.#freshUntil = startedAt + bounded
    this.#failures = 0
  }

  #unavailable(): VerificationUnavailable {
    return new VerificationUnavailable({ retryAfter: (this.#retryAt - this.#options.now()) / 1000 })
  }
}

function sameKeys(before: readonly VerificationKey[], after: readonly VerificationKey[]): boolean {
  return before.length === after.length && after.every((key) => before.includes(key))
}

function unknownKey(): BearerError {
  return new BearerError('invalid_token', 'The token is signed by a key that its issuer does not have')
}
