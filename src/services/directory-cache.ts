/** One kind of thing in memory: loaded once however many wait, and read again when the change feed says so. */
import { createBoundedCache } from './bounded-cache.ts'
import type { ChangeFeed } from './change-feed.ts'

const MOST = 20_000
/** Read again at once, of thousands: others want connections too. */
const TOGETHER = 50

export interface Cache<T> {
  get(key: string): T | Promise<T>
  /** What is in memory. */
  peek(key: string): T | undefined
  /** From the database, whatever is in memory. */
  reload(key: string): Promise<T>
  /** Reads those of these again that are in memory; throws when it cannot, and leaves them as they were. */
  renew(keys: Iterable<string>): Promise<void>
  /** The same of those that `which` finds: it looks at all that is in memory, and nobody is served meanwhile. */
  refresh(which: (key: string, value: T) => boolean): Promise<void>
  clear(): void
}

export function createCache<T>(load: (key: string) => Promise<T>, feed: ChangeFeed): Cache<T> {
  const entries = createBoundedCache<{ value: T }>(MOST)
  const loading = new Map<string, Promise<T>>()
  /** Grows with each change: what was read before one is not good after it. */
  let generation = 0
  let refreshing = Promise.resolve()

  /** Reads again when something changed meanwhile; what keeps changing is given out and not kept. */
  async function loadOnce(key: string, tries = 3): Promise<T> {
    const begun = generation
    const value = await load(key)
    if (begun !== generation) return tries > 1 ? loadOnce(key, tries - 1) : value
    // What is not there is asked for again: made-up ids must not crowd out real ones.
    if (value === null) entries.delete(key)
    else entries.set(key, { value })
    return value
  }

  function forgetLoading(): void {
    generation++
    loading.clear()
  }

  /** Not by dropping them: if the database went away now, what it last said would be gone before its time. */
  async function readAgain(find: () => readonly string[]): Promise<void> {
    forgetLoading()
    const found = find()
    for (let at = 0; at < found.length; at += TOGETHER)
      await Promise.all(found.slice(at, at + TOGETHER).map(async (key) => loadOnce(key)))
  }

  /** One after the other: each makes what others are reading not worth keeping. */
  async function inTurn(find: () => readonly string[]): Promise<void> {
    refreshing = refreshing.then(
      async () => readAgain(find),
      async () => readAgain(find),
    )
    return refreshing
  }

  function peek(key: string): T | undefined {
    feed.assertFresh()
    return entries.get(key)?.value
  }

  async function reload(key: string): Promise<T> {
    await feed.catchUp()
    feed.assertFresh()
    const pending = loading.get(key)
    if (pending !== undefined) return pending
    const started = loadOnce(key).finally(() => {
      if (loading.get(key) === started) loading.delete(key)
    })
    loading.set(key, started)
    return started
  }

  const read = (key: string): T | Promise<T> => peek(key) ?? reload(key)

  return {
    peek,
    reload,
    get(key) {
      const caughtUp = feed.catchUp()
      return caughtUp === undefined ? read(key) : caughtUp.then(() => read(key))
    },
    renew: async (keys) => inTurn(() => [...keys].filter((key) => entries.has(key))),
    refresh: async (which) =>
      inTurn(() => [...entries.entries()].flatMap(([key, { value }]) => (which(key, value) ? [key] : []))),
    clear() {
      forgetLoading()
      entries.clear()
    },
  }
}
