/** Random bytes of the system, fetched many at a time: a call for each use costs more than the bytes do. */
import { randomFillSync } from 'node:crypto'

const pool = Buffer.alloc(8192)
let used = pool.length

/** `count` bytes, 256 at most, in base64url or hex. None is given out twice. */
export function randomText(count: number, encoding: 'base64url' | 'hex'): string {
  const at = take(count)
  return pool.toString(encoding, at, at + count)
}

/** Fills the rest of `target`, from `start`. */
export function fillRandomly(target: Buffer, start: number): Buffer {
  const at = take(target.length - start)
  pool.copy(target, start, at, at + target.length - start)
  return target
}

function take(count: number): number {
  if (used + count > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += count
  return used - count
}
