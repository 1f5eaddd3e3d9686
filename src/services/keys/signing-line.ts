/**
 * The line before a store that signs for us: so many signatures are under way at once, and behind them waits no more than can be
 * served soon. Who would wait for too long is told to come back, before anything of the request is done.
 */
import { shed } from '../shedding.ts'

export interface SigningLine {
  /** Runs `work` when its turn comes. Throws `temporarily_unavailable` (503) where it would not come in time. */
  run<T>(work: () => Promise<T>): Promise<T>
}

/** Turns that the last one waits for at most. */
const TURNS = 64
/** Milliseconds that anybody waits. */
const PATIENCE = 2000

export function createSigningLine(atOnce: number): SigningLine {
  const waiting = new Set<() => void>()
  let running = 0

  async function turn(): Promise<void> {
    if (running < atOnce) {
      running++
      return
    }
    if (waiting.size >= TURNS * atOnce) throw shed('keys')
    return new Promise((resolve, reject) => {
      const start = (): void => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        waiting.delete(start)
        reject(shed('keys'))
      }, PATIENCE)
      waiting.add(start)
    })
  }

  function leave(): void {
    const [next] = waiting
    if (next === undefined) {
      running--
      return
    }
    waiting.delete(next)
    next()
  }

  return {
    async run(work) {
      await turn()
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}
