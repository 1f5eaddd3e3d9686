/** Time that passes without anybody waiting, by both clocks of a process: that of the day, and `performance.now()`, which never goes back. */
import { vi } from 'vitest'

const elapsed = performance.now.bind(performance)
let passed = 0

/** From now on it is so many milliseconds later. That of the day then stands still, and is the real one again by `vi.useRealTimers`. */
export function passTime(milliseconds: number): void {
  passed += milliseconds
  performance.now = () => elapsed() + passed
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds })
}

/** Does it while no time passes by `performance.now()`: what gives up after a while does not, however slow the machine is. */
export async function stopClock<T>(work: () => Promise<T>): Promise<T> {
  const { now } = performance
  const at = performance.now()
  performance.now = () => at
  try {
    return await work()
  } finally {
    performance.now = now
  }
}
