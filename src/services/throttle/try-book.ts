/** Who tries what, and the limits that this process keeps for each of them: bounded in number, and the database knows better. */
import { hash } from 'node:crypto'
import { networkOf } from '../../protocol/network.ts'
import { EVERY_ACCOUNT } from '../../store/throttles.ts'
import { createBoundedCache } from '../bounded-cache.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { createBucket, type Bucket } from './throttle-bucket.ts'
import type { Limit, ThrottleLimits } from './throttle-limits.ts'

interface Source {
  readonly key: () => string
  readonly bucket: Bucket
  /** Of failures that say nothing of it. */
  readonly unanswered: Bucket | undefined
  /** Attempts that wait for others. */
  waiting: number
}

interface Pair {
  readonly bucket: Bucket
  /** Whether the account has succeeded from here: then a neighbour who tries many accounts does not lock it out. */
  proven: boolean
}

/** Who tries what. */
export interface Try {
  readonly account: string | null
  readonly source: Source
  readonly pair: Pair | undefined
  readonly everywhere: Bucket | undefined
  readonly marked: Bucket | undefined
}

export interface TryBook {
  tryOf(account: string | null, address: string, mark: string | null): Try
}

const MAX_ENTRIES = 20_000
/** Beside the accounts of a network, as one of them. */
const UNANSWERED = 'throttled unanswered'
/** Longer names are kept by their digest. */
const LONG = 100

export function createTryBook(kind: string, limits: ThrottleLimits, box: SecretBox): TryBook {
  const sources = createBoundedCache<Source>(MAX_ENTRIES)
  const pairs = createBoundedCache<Pair>(MAX_ENTRIES)
  const wholes = createBoundedCache<Bucket>(MAX_ENTRIES)
  let unansweredKey: string | undefined

  function sourceOf(network: string): Source {
    const had = sources.get(network)
    if (had !== undefined) return had
    let hashed: string | undefined
    const key = (): string => (hashed ??= box.hash(`throttled network\0${kind}\0${network}`))
    const bucket = createBucket(limits.network, () => ({ source: key(), account: EVERY_ACCOUNT }))
    const { unanswered: most } = limits
    const unanswered =
      most && createBucket(most, () => ({ source: key(), account: (unansweredKey ??= box.hash(UNANSWERED)) }))
    const source: Source = { key, bucket, unanswered, waiting: 0 }
    sources.set(network, source)
    return source
  }

  function pairOf(source: Source, network: string, account: string): Pair {
    const name = `${network}\0${short(account)}`
    const had = pairs.get(name)
    if (had !== undefined) return had
    let hashed: string | undefined
    const key = (): string => (hashed ??= box.hash(`throttled account\0${kind}\0${account}`))
    const bucket = createBucket(limits.account, () => ({ source: source.key(), account: key() }))
    const pair: Pair = { bucket, proven: false }
    pairs.set(name, pair)
    return pair
  }

  /** One that counts what comes from everywhere. */
  function wholeOf(limit: Limit, what: 'everywhere' | 'marked', name: string): Bucket {
    const had = wholes.get(`${what}\0${short(name)}`)
    if (had !== undefined) return had
    let hashed: string | undefined
    const source = (): string => (hashed ??= box.hash(`throttled ${what}\0${kind}\0${name}`))
    const bucket = createBucket(limit, () => ({ source: source(), account: EVERY_ACCOUNT }))
    wholes.set(`${what}\0${short(name)}`, bucket)
    return bucket
  }

  return {
    tryOf(account, address, mark) {
      const network = networkOf(address)
      const source = sourceOf(network)
      const { everywhere, marked } = limits
      const whole = (
        what: 'everywhere' | 'marked',
        limit?: Limit,
        name?: string | null,
      ): Bucket | undefined =>
        limit === undefined || typeof name !== 'string' ? undefined : wholeOf(limit, what, name)
      return {
        account,
        source,
        pair: account === null ? undefined : pairOf(source, network, account),
        everywhere: whole('everywhere', everywhere, account),
        marked: whole('marked', marked, mark),
      }
    },
  }
}

const short = (name: string): string => (name.length > LONG ? hash('sha256', name) : name)
