/**
 * Bounds slow password hashing: a few at a time and a short line behind them, so that a rush of logins never
 * takes the thread pool away from tokens (measured: unbounded, a token endpoint falls to a hundredth). Networks share the
 * places in line, so that a rush from one keeps out nobody elsewhere.
 */
import { availableParallelism } from 'node:os'
import { neighbourhoodOf, networkOf } from '../../protocol/network.ts'
import { currentOrigin } from '../audit/origin.ts'
import { shed } from '../shedding.ts'
import { createFairLine, type FairLine } from './fair-line.ts'

export interface HashingQueue {
  /**
   * Runs `work` when its turn comes. Throws `temporarily_unavailable` (503) where the line is full and its own network has
   * the most in it, also later, when others come whose networks have less.
   */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Another line to the same places. Lines take turns: a rush in one costs the others a single turn. */
  beside(): HashingQueue
  /** Whose network asks now, as the line tells them apart: one is refused with its own alone. */
  network(): string
  /** How many hash, and how many wait, in all lines. */
  load(): { readonly running: number; readonly waiting: number }
}

/** Of Node's thread pool, unless it is told otherwise: one is left to those who sign. */
export const THREADS = 4
/** Turns that the last one waits for. At about 40 ms each they take less than three seconds, however many run at a time. */
const TURNS = 64

interface Waiting {
  start(): void
  refuse(error: Error): void
}
type Line = FairLine<Waiting>

/**
 * Whose request it is that is being answered: its neighbourhood, in which an address is cheap to have, and in that the one
 * network. What the server and its commands do themselves is one more.
 */
function currentPlace(): readonly string[] {
  const { address } = currentOrigin()
  return address === null ? ['', ''] : [neighbourhoodOf(address), networkOf(address)]
}

export function createHashingQueue(
  concurrency: number = Math.max(1, Math.min(availableParallelism(), THREADS) - 1),
  maxWaiting: number = TURNS * concurrency,
  placeOf: () => readonly string[] = currentPlace,
): HashingQueue {
  const lines: Line[] = []
  let running = 0
  let turn = 0

  /** Who is next in the next line that is not empty. */
  function next(): Waiting | undefined {
    for (let asked = 0; asked < lines.length; asked++) {
      turn = (turn + 1) % lines.length
      const first = lines[turn]?.next()
      if (first !== undefined) return first
    }
    return undefined
  }

  async function waitIn(line: Line): Promise<void> {
    return new Promise((start, refuse) => {
      line.add(placeOf(), { start, refuse })
      if (line.size > maxWaiting) line.last()?.refuse(shed('passwords'))
    })
  }

  async function run<T>(line: Line, work: () => Promise<T>): Promise<T> {
    if (running >= concurrency) await waitIn(line)
    else running++
    try {
      return await work()
    } finally {
      const first = next()
      if (first === undefined) running--
      else first.start()
    }
  }

  function load(): ReturnType<HashingQueue['load']> {
    return { running, waiting: lines.reduce((sum, line) => sum + line.size, 0) }
  }

  function openLine(): HashingQueue {
    const line = createFairLine<Waiting>()
    lines.push(line)
    return {
      run: async (work) => run(line, work),
      beside: openLine,
      network: () => placeOf().at(-1) ?? '',
      load,
    }
  }
  return openLine()
}
