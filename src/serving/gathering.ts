/**
 * WORKERS on a quiet machine: as few of them as can do it take connections, since a load that is spread thinly costs more
 * (docs/adr/0065-as-few-as-can-do-it.md). The supervisor decides by what each worker says of itself.
 */

/** Of a worker's time, 0 to 1: with more, those who take connections are one more, and with less for fewer of them they are fewer. */
const MOST = 0.9
/** What each one more adds to the same load, about: gathered, it takes so much less. What saves less is soon too much, and is spread again. */
const SPREAD = 0.15
/** Milliseconds for which fewer would have done, before they are fewer: twice as many each time that it was soon too much after all, up to the longest. */
const [QUIET, LONGEST] = [5000, 80_000]
/** Milliseconds after they were made fewer: what is too much by then, and no later, was too much for them from the start. */
const SOON = 30_000
/** Unless the load has grown, to more than so many times what it was. */
const GROWN = 1.25
/** Milliseconds after which a worker that says nothing, while others do, is taken for one that has no time to. */
const SILENT = 3000

export interface Gathering {
  /** It listens. */
  listens(worker: number, now: number): void
  /** So much of its time is used, 0 to 1. */
  says(worker: number, load: number, now: number): void
  /** It is gone. */
  ends(worker: number): void
  /** Those who are to take connections; each call may find others. */
  takers(now: number): ReadonlySet<number>
}

/** The fewest that can do what `count` of them do with `all` of a worker's time. */
function fewest(all: number, count: number): number {
  const gathered = all / (1 + SPREAD * (count - 1))
  let few = 1
  while (few < count && gathered * (1 + SPREAD * (few - 1)) > MOST * few) few++
  return few
}

export function createGathering(): Gathering {
  /** In the order in which they began to listen. */
  const said = new Map<number, { load: number; at: number }>()
  let wanted = 1
  let quietSince: number | undefined
  let patience = QUIET
  /** When they were made fewer, with what all of them did, if they have not been made more since. */
  let fewer: { at: number; all: number } | undefined
  /** When any of them said something. */
  let heardAt = 0

  function decide(now: number): void {
    const loads = [...said.values()].map(({ load, at }) => (now - at > SILENT ? 1 : load))
    const all = loads.reduce((sum, load) => sum + load, 0)
    const count = Math.max(1, Math.min(wanted, loads.length))
    const used = loads.slice(0, count).reduce((sum, load) => sum + load, 0)
    const few = fewest(all, count)
    if (used > MOST * count) {
      wanted = Math.max(count + 1, Math.ceil(all / MOST))
      quietSince = undefined
      if (fewer !== undefined) {
        const isMisfit = now - fewer.at < SOON && all <= GROWN * fewer.all
        patience = isMisfit ? Math.min(2 * patience, LONGEST) : QUIET
      }
      fewer = undefined
    } else if (few < count) {
      quietSince ??= now
      if (now - quietSince < patience) return
      wanted = few
      quietSince = undefined
      fewer = { at: now, all }
    } else quietSince = undefined
  }

  return {
    listens: (worker, now) => void said.set(worker, { load: 0, at: now }),
    says(worker, load, now) {
      // When nobody does, it was the machine that stood still, and all of them with it.
      if (now - heardAt > SILENT) for (const one of said.values()) one.at = now
      heardAt = now
      // What has not listened yet is not counted on.
      if (said.has(worker)) said.set(worker, { load, at: now })
    },
    ends: (worker) => void said.delete(worker),
    takers(now) {
      decide(now)
      return new Set([...said.keys()].slice(0, Math.max(1, wanted)))
    },
  }
}
