/** Instants of RFC 3339, as the interface has them. */
import { Type } from '../../src/protocol/schema.ts'

export const Instant = (description?: string) =>
  Type.String({ format: 'date-time', ...(description === undefined ? {} : { description }) })

/** Of milliseconds since the epoch. */
export function instant(time: number): string {
  return new Date(time).toISOString()
}
