/** Work done over and over while something else happens. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface Load<T> {
  /** What came of it so far, in the order of completion. */
  results: readonly T[]
  /** Waits for so many more results. Throws what the work threw. */
  more(count: number): Promise<void>
  /** No new work; waits for what is under way. Throws what the work threw. */
  stop(): Promise<readonly T[]>
}

/**
 * Runs `work` again and again, `width` at a time, with `pause` milliseconds between one and the next of each: enough to
 * meet what happens meanwhile, and not all of the machine for as long as that takes.
 */
export function underLoad<T>(work: () => Promise<T>, width = 4, pause = 10): Load<T> {
  const results: T[] = []
  const state = { stopped: false }
  const lanes = Promise.all(
    Array.from({ length: width }, async () => {
      while (!state.stopped) {
        results.push(await work())
        if (pause > 0) await sleep(pause)
      }
    }),
  )
  lanes.catch(() => (state.stopped = true))
  return {
    results,
    async more(count) {
      const wanted = results.length + count
      while (results.length < wanted && !state.stopped) await sleep(5)
      if (results.length >= wanted) return
      await lanes
      throw new Error(`the load was stopped, ${wanted - results.length} results before that`)
    },
    async stop() {
      state.stopped = true
      await lanes
      return results
    },
  }
}
