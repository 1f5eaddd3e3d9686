/**
 * The places of one process for what it delivers at once. They are shared out by kind and by recipient: whoever keeps all of their own waiting
 * keeps no other.
 */
import type { ClaimedRow } from '../../store/outbox.ts'

/** Under way in one process; of one kind, where there are others; for one recipient, and for all who failed last. */
const TOGETHER = 10
const OF_A_KIND = 7
export const OF_ONE = 4
const OF_FAILING = 2

export interface Places {
  take(attempt: Promise<void>, row: ClaimedRow): void
  /** Whether somebody waited for it. */
  free(attempt: Promise<void>): boolean
  /** All that is under way. */
  all(): ReadonlyMap<Promise<void>, ClaimedRow>
  /** How many of the kind may be begun. */
  roomFor(kind: string): number
  /** How many more may be begun of who failed last. */
  roomForFailing(): number
  /** How many this process is at of whom; of whom it leaves to others, as if it were at all that it may. */
  held(kind: string): ReadonlyMap<string, number>
  /** Of whom no more is begun now. */
  full(kind: string): string[]
  /** Has failed just now: what was begun for them before counts as of who fails. */
  fail(of: Pick<ClaimedRow, 'kind' | 'recipient'>): void
  /** Leaves them to others, for so many milliseconds. */
  leave(of: Pick<ClaimedRow, 'kind' | 'recipient'>, pauseMs: number): void
  /** Takes up again whom it has left for long enough: milliseconds until each of the others. */
  takeUp(): number[]
}

/** `kinds`: how many there are. */
export function createPlaces(kinds: () => number): Places {
  const underWay = new Map<Promise<void>, ClaimedRow>()
  /** By the kind, and until when. */
  const leftToOthers = new Map<string, Map<string, number>>()

  const rows = (kind: string): ClaimedRow[] => [...underWay.values()].filter((row) => row.kind === kind)

  const places: Places = {
    take: (attempt, row) => void underWay.set(attempt, row),
    free(attempt) {
      const { kind, recipient, failing } = underWay.get(attempt)!
      const wasFull = places.roomFor(kind) === 0 || failing || places.full(kind).includes(recipient)
      underWay.delete(attempt)
      return wasFull
    },
    all: () => underWay,
    roomFor(kind) {
      const own = rows(kind).length
      const left = (kinds() > 1 ? OF_A_KIND : TOGETHER) - own
      // Whatever keeps the places of others, each kind has one.
      return Math.max(Math.min(left, TOGETHER - underWay.size), own === 0 ? 1 : 0)
    },
    roomForFailing() {
      const failing = [...underWay.values()].filter((row) => row.failing)
      return OF_FAILING - new Set(failing.map(({ kind, recipient }) => `${kind} ${recipient}`)).size
    },
    held(kind) {
      const known = rows(kind).filter(({ recipient }) => recipient !== '')
      const busy = [...Map.groupBy(known, ({ recipient }) => recipient)]
      const left = [...(leftToOthers.get(kind)?.keys() ?? [])]
      return new Map([
        ...busy.map(([name, own]) => [name, own.length] as const),
        ...left.map((name) => [name, OF_ONE] as const),
      ])
    },
    full(kind) {
      const failing = new Set(rows(kind).flatMap((row) => (row.failing ? [row.recipient] : [])))
      const held = [...places.held(kind)]
      return held.flatMap(([name, count]) => (count >= OF_ONE || failing.has(name) ? [name] : []))
    },
    fail({ kind, recipient }) {
      for (const row of rows(kind)) if (row.recipient === recipient) row.failing = true
    },
    leave({ kind, recipient }, pauseMs) {
      const names = leftToOthers.get(kind) ?? new Map<string, number>()
      leftToOthers.set(kind, names.set(recipient, performance.now() + pauseMs))
    },
    takeUp() {
      const waits: number[] = []
      for (const names of leftToOthers.values())
        for (const [name, until] of names) {
          const wait = until - performance.now()
          if (wait <= 0) names.delete(name)
          else waits.push(wait)
        }
      return waits
    },
  }
  return places
}
