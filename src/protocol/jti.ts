/** Token identifiers that carry the instant of issue: UUID version 7 (RFC 9562 §5.7). */
import { randomFillSync } from 'node:crypto'

const pool = Buffer.alloc(10 * 256)
let used = pool.length

/** A UUIDv7 whose first 48 bits are `now`, in milliseconds since the epoch. The rest is random. */
export function createJti(now: number): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const time = timeOf(now)
  const random = pool.toString('hex', used, used + 10)
  used += 10
  const variant = '89ab'[Number.parseInt(random[3]!, 16) & 3]!
  return `${time}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`
}

/** Where the ids of this instant begin, in milliseconds since the epoch. */
export function firstIdAt(instant: number): string {
  return `${timeOf(instant)}-0000-0000-000000000000`
}

function timeOf(instant: number): string {
  const time = instant.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}`
}
