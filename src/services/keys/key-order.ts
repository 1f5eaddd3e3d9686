/**
 * What follows from the instants of an algorithm's keys alone: which of them signs, until when, and what must happen
 * when one is revoked. The same instants are read by every process, so all come to the same answers without talking.
 */
import type { KeyRecord, RingKey } from './ring-key.ts'

/**
 * Milliseconds by which clocks may differ, and a token may be younger than the end of its key. A key is published for
 * longer than a change takes to reach every process, so nobody honest needs more (docs/adr/0006).
 */
export const TOLERANCE = 5_000

/** The instant from which a later key signs; infinite while there is none. One that was revoked before never will. */
export function signsUntil(key: KeyRecord, all: readonly KeyRecord[]): number {
  const later = all.filter(
    ({ algorithm, signsFrom, revokedAt }) =>
      algorithm === key.algorithm &&
      signsFrom > key.signsFrom &&
      (revokedAt === null || revokedAt >= signsFrom),
  )
  return Math.min(...later.map(({ signsFrom }) => signsFrom))
}

/** Whether what says that it was issued at this instant may be this key's: it is nobody's once a successor signs. */
export function mayHaveSigned({ signsUntil: end }: RingKey, issuedAt: number): boolean {
  return issuedAt <= end + TOLERANCE
}

/**
 * The key of this algorithm that signs at `now`; `keys` are oldest first. A key whose time is over is not gone back to: if
 * its successor was revoked, the next one signs, also where the clock of its maker is ahead of ours.
 */
export function signerAmong(keys: readonly RingKey[], algorithm: string, now: number): RingKey | undefined {
  let next: RingKey | undefined
  for (let at = keys.length - 1; at >= 0; at--) {
    const key = keys[at]!
    if (key.algorithm !== algorithm) continue
    if (key.signsFrom <= now) return now < key.signsUntil ? key : (next ?? key)
    next = key
  }
  return next
}

/** What goes with the revocation of a key, so that its algorithm has one that signs. */
export interface RevocationPlan {
  /** A new key in its place, which signs at once or is published first. */
  readonly successor?: 'at once' | 'published'
  /** One that is published already, and signs from now on. */
  readonly forward?: RingKey
  /** One that signs for longer than it was to: until this one does, or else the successor. */
  readonly extend?: { readonly key: RingKey; readonly until?: RingKey }
}

/** `keys` are those of the algorithm that are published, oldest first; `key` is one of them. */
export function planRevocation(key: RingKey, keys: readonly RingKey[], now: number): RevocationPlan {
  const [at, signing] = [keys.indexOf(key), keys.indexOf(signerAmong(keys, key.algorithm, now)!)]
  const [before, next] = [keys[at - 1], keys[at + 1]]
  // One that has done signing takes nothing along but what it signed.
  if (at < signing) return {}
  if (at === signing) return next === undefined ? { successor: 'at once' } : { forward: next }
  const extend = next === undefined ? { key: before! } : { key: before!, until: next }
  return next === undefined ? { successor: 'published', extend } : { extend }
}
