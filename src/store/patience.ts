/** Parts in which time is counted: a pause takes one of them, however long it was. */
const PARTS = 4

/**
 * Calls `giveUp` after `limit` milliseconds in which this process ran, unless what it returns is called before. Timers that are due
 * come before what has arrived: where the process itself was paused, there is time left to read the answer.
 */
export function waitAtMost(limit: number, giveUp: () => void): () => void {
  let left = PARTS
  let timer = setTimeout(function part() {
    if (--left === 0) giveUp()
    else timer = setTimeout(part, limit / PARTS)
  }, limit / PARTS)
  return () => clearTimeout(timer)
}
