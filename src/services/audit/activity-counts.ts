/** How often what happened, by the hour: counted here, and stored as it stands, so that a try of which no answer came counts nothing twice. */
import { randomUUID } from 'node:crypto'
import { statements } from '../../store/audit-events.ts'
import type { Database } from '../../store/database.ts'
import { isMisfit } from '../../store/failures.ts'

export interface ActivityCounts {
  add(type: string): void
  /** What has changed since. Throws where it cannot be stored; then it is with the next call. */
  store(): Promise<void>
}

const HOUR = 3_600_000

export function createActivityCounts(database: Pick<Database, 'query'>): ActivityCounts {
  const writer = randomUUID()
  /** By the beginning of the hour: those of which something is to be stored, and the present one. */
  const hours = new Map<number, { readonly counts: Map<string, number>; changed: Set<string> }>()

  /** One that PostgreSQL never takes is left out, as its event is: it would keep all others back for ever. */
  async function put(hour: Date, all: ReadonlyMap<string, number>, types: readonly string[]): Promise<void> {
    try {
      const values = types.map((type) => all.get(type)!)
      await database.query(statements.count, [writer, hour, types, values])
    } catch (error) {
      if (!isMisfit(error)) throw error
      if (types.length > 1) for (const type of types) await put(hour, all, [type])
    }
  }

  return {
    add(type) {
      const hour = hourOf(Date.now())
      let counted = hours.get(hour)
      if (counted === undefined) hours.set(hour, (counted = { counts: new Map(), changed: new Set() }))
      counted.counts.set(type, (counted.counts.get(type) ?? 0) + 1)
      counted.changed.add(type)
    },
    async store() {
      for (const [hour, counted] of hours) {
        const types = counted.changed
        if (types.size > 0) {
          counted.changed = new Set()
          try {
            await put(new Date(hour), counted.counts, [...types])
          } catch (error) {
            for (const type of types) counted.changed.add(type)
            throw error
          }
        }
        if (counted.changed.size === 0 && hour < hourOf(Date.now())) hours.delete(hour)
      }
    },
  }
}

function hourOf(time: number): number {
  return Math.floor(time / HOUR) * HOUR
}
