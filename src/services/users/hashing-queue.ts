/**
 * Bounds slow password hashing: a few at a time and a short line behind them, so that a rush of logins never
 * takes the thread pool away from tokens (measured: unbounded, a token endpoint falls to a hundredth).
 */
import { availableParallelism } from 'node:os'
import { shed } from '../shedding.ts'

export interface HashingQueue {
  /** Runs `work` when its turn comes. Throws `temporarily_unavailable` (503) when the line is full. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Another line to the same places. Lines take turns: a rush in one costs the others a single turn. */
  beside(): HashingQueue
  /** How many hash, and how many wait, in all lines. */
  load(): { readonly running: number; readonly waiting: number }
}

/** Of Node's thread pool, unless it is told otherwise: one is left to those who sign. */
const THREADS = 4
/** Turns that the last one waits for. At about 40 ms each they take less than three seconds, however many run at a time. */
const TURNS = 64

export function createHashingQueue(
  concurrency: number = Math.max(1, Math.min(availableParallelism(), THREADS) - 1),
  maxWaiting: number = TURNS * concurrency,
): HashingQueue {
  const lines: (() => void)[][] = []
  let running = 0
  let turn = 0

  /** Who is first in the next line that is not empty. */
  function next(): (() => void) | undefined {
    for (let asked = 0; asked < lines.length; asked++) {
      turn = (turn + 1) % lines.length
      const first = lines[turn]?.shift()
      if (first !== undefined) return first
    }
    return undefined
  }

  async function run<T>(waiting: (() => void)[], work: () => Promise<T>): Promise<T> {
    if (running >= concurrency) {
      if (waiting.length >= maxWaiting) throw shed('passwords')
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      running++
    }
    try {
      return await work()
    } finally {
      const first = next()
      if (first === undefined) running--
      else first()
    }
  }

  function load(): ReturnType<HashingQueue['load']> {
    return { running, waiting: lines.reduce((sum, line) => sum + line.length, 0) }
  }

  function openLine(): HashingQueue {
    const waiting: (() => void)[] = []
    lines.push(waiting)
    return { run: async (work) => run(waiting, work), beside: openLine, load }
  }
  return openLine()
}
