/** How long an answer to a GET may be used, by what it says of itself (RFC 9111 §4.2, §5.2.2), within bounds of ours. */

export interface Freshness {
  /** Milliseconds for which it is not asked for again. */
  readonly fresh: number
  /** Milliseconds for which it serves on while nobody answers (RFC 5861 §4). */
  readonly stale: number
}

/** Milliseconds: so that nobody can make us ask others as often as they ask us. */
export const FLOOR = 30_000
/** Milliseconds: so that what was taken back, such as a key, is not believed for longer. */
const CEILING = 3_600_000
/** Milliseconds, of an answer that says nothing (§4.2.2). */
const HEURISTIC = 600_000

export function freshnessOf(headers: Headers): Freshness {
  const control = headers.get('cache-control') ?? ''
  const fresh = Math.min(Math.max(saidOf(control, headers), FLOOR), CEILING)
  const strict = /\b(?:no-store|no-cache|must-revalidate)\b/i.test(control)
  return { fresh, stale: strict ? fresh : CEILING }
}

function saidOf(control: string, headers: Headers): number {
  if (/\bno-(?:store|cache)\b/i.test(control)) return 0
  const seconds = /\bmax-age="?(\d{1,9})/i.exec(control)?.[1]
  if (seconds !== undefined) return (Number(seconds) - (Number(headers.get('age') ?? 0) || 0)) * 1000
  const expires = headers.get('expires')
  if (expires === null) return HEURISTIC
  const sent = Date.parse(headers.get('date') ?? '')
  // §5.3: what is no date is in the past.
  return (Date.parse(expires) || 0) - (Number.isNaN(sent) ? Date.now() : sent)
}
