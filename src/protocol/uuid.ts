/** Ids (RFC 9562): which texts are some, and new ones that carry the instant they were made at. */
import { randomText } from './random.ts'

/** Before every other. */
export const NIL = '00000000-0000-0000-0000-000000000000'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** PostgreSQL refuses to look others up. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/**
 * A UUID version 7 (§5.7): its first 48 bits are `now`, in milliseconds since the epoch, the rest is random. Rows by such
 * ids lie together that were made together.
 */
export function createUuid(now: number = Date.now()): string {
  return makeUuid(now, 7)
}

/** Made alike, but of version 8 (§5.8), which its maker gives its meaning: here, that it is no row's id. */
export function createLoneUuid(): string {
  return makeUuid(Date.now(), 8)
}

export function isLoneUuid(id: string): boolean {
  return id[14] === '8'
}

function makeUuid(now: number, version: 7 | 8): string {
  const time = timeOf(now)
  const random = randomText(10, 'hex')
  const variant = '89ab'[Number.parseInt(random[3]!, 16) & 3]!
  return `${time}-${version}${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`
}

/** Where the ids of this instant begin, in milliseconds since the epoch. */
export function firstUuidAt(instant: number): string {
  return `${timeOf(instant)}-0000-0000-000000000000`
}

function timeOf(instant: number): string {
  const time = instant.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}`
}
