/**
 * Answers to GETs, kept by the rules of HTTP (RFC 9111) within bounds: in bytes, in how soon one is asked for again, and in
 * how long it is believed. Many who ask for the same at once share one request, and a failure is remembered for seconds.
 */
import { LRUCache } from 'lru-cache'
import { OutboundError } from '../../doors/outbound.ts'
import type { Answer } from './exchange.ts'
import { FLOOR, freshnessOf } from './freshness.ts'
import { TooManyUnderWay } from './too-many.ts'

/** Asks for it; with the headers by which what is kept may be confirmed (RFC 9110 §13.1). */
export type Ask = (conditions: Readonly<Record<string, string>>) => Promise<Answer>

export interface Wanted {
  /** Milliseconds: what is older is asked for again, if it is older than the floor, too. */
  readonly maxAge: number
  /** Whether an older one serves while its host fails (RFC 5861 §4). */
  readonly staleIfError: boolean
}

export interface KeptAnswers {
  /** By `key`. Throws `OutboundError`. */
  get(key: string, wanted: Wanted, ask: Ask): Promise<Answer>
}

interface Kept {
  readonly answer: Answer
  /** Of the answer, or of the last word that it is still good. */
  readonly at: number
  readonly freshUntil: number
  readonly staleUntil: number
}

/** Bytes. */
const ROOM = 8_388_608
/** What an entry takes beside what others chose: the address, the headers and the body. */
const EACH = 1024
const REMEMBERED = 2000
/** What says that there is nothing, or not now, is believed for a moment, whatever it says of itself: what it is about may be there again. */
const REFUSED = { fresh: FLOOR, stale: FLOOR }
/** Milliseconds that a failure is remembered. */
const FAILURE = 5000

/** `now`: milliseconds by a clock that is not set, as `performance.now()`. */
export function createKeptAnswers(now: () => number): KeptAnswers {
  const kept = new LRUCache<string, Kept>({
    maxSize: ROOM,
    sizeCalculation: ({ answer }, key) => sizeOf(answer) + key.length + EACH,
  })
  const failures = new LRUCache<string, { error: OutboundError | undefined; until: number }>({
    maxSize: REMEMBERED,
    sizeCalculation: () => 1,
  })
  const underWay = new Map<string, Promise<Answer>>()

  function keep(key: string, answer: Answer): Answer {
    const at = now()
    const { fresh, stale } = answer.status < 300 ? freshnessOf(answer.headers) : REFUSED
    kept.set(key, { answer, at, freshUntil: at + fresh, staleUntil: at + stale })
    return answer
  }

  /** Remembers a failure of the host. */
  async function askFor(key: string, had: Kept | undefined, ask: Ask): Promise<Answer> {
    try {
      const answer = await ask(had === undefined ? {} : conditionsOf(had.answer.headers))
      if (answer.status === 304 && had !== undefined) return keep(key, confirmed(had.answer, answer.headers))
      if (answer.status < 500) return keep(key, answer)
      failures.set(key, { error: undefined, until: now() + FAILURE })
      return answer
    } catch (error) {
      if (error instanceof OutboundError && !(error instanceof TooManyUnderWay))
        failures.set(key, { error, until: now() + FAILURE })
      throw error
    }
  }

  async function shared(key: string, had: Kept | undefined, ask: Ask): Promise<Answer> {
    const failed = failures.get(key)
    if (failed !== undefined && now() < failed.until)
      throw failed.error ?? new OutboundError('it answered with a failure a moment ago')
    const asked =
      underWay.get(key) ??
      askFor(key, had, ask).finally(() => {
        underWay.delete(key)
      })
    underWay.set(key, asked)
    return asked
  }

  return {
    async get(key, { maxAge, staleIfError }, ask) {
      const had = kept.get(key)
      if (had !== undefined && now() < Math.min(had.freshUntil, had.at + Math.max(maxAge, FLOOR)))
        return had.answer
      const stale = () =>
        staleIfError && had !== undefined && now() < had.staleUntil ? had.answer : undefined
      try {
        const answer = await shared(key, had, ask)
        return answer.status < 500 ? answer : (stale() ?? answer)
      } catch (error) {
        const instead = error instanceof OutboundError ? stale() : undefined
        if (instead === undefined) throw error
        return instead
      }
    },
  }
}

function sizeOf({ headers, body }: Answer): number {
  let size = body.byteLength
  for (const [name, value] of headers) size += name.length + value.length
  return size
}

function conditionsOf(headers: Headers): Record<string, string> {
  const [etag, modified] = [headers.get('etag'), headers.get('last-modified')]
  if (etag !== null) return { 'if-none-match': etag }
  return modified === null ? {} : { 'if-modified-since': modified }
}

/** RFC 9111 §4.3.4: what was kept, with what is said of it now. */
function confirmed({ status, headers, body }: Answer, said: Headers): Answer {
  const merged = new Headers(headers)
  for (const [name, value] of said) merged.set(name, value)
  return { status, headers: merged, body }
}
