/**
 * What the file last said, member by member: only whether a value is the one that was said before can be told of it. The
 * hashes are keyed by a secret of the database's own, which outlives SECRET_KEY, and name what they are of, so that two
 * equal passwords do not look alike.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import { isObject } from '../../protocol/json.ts'
import type { SeedKind } from '../../entities/seed-entry.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { statements } from '../../store/seed-entries.ts'

/** Hashes by member. */
export type Said = Readonly<Record<string, string>>

export interface SeedMemory {
  /** What the file says now of a thing. */
  digest(key: string, members: Readonly<Record<string, unknown>>): Said
  /** What it said last, of the things that it spoke of. */
  recall(keys: readonly string[]): Promise<ReadonlyMap<string, Said>>
  /** The same within a transaction, which nobody else changes until its end. */
  lock(query: Query, keys: readonly string[]): Promise<ReadonlyMap<string, Said>>
  /** Throws a duplicate where another process remembers the first words of one of them meanwhile. */
  remember(query: Query, said: ReadonlyMap<string, { before: Said | undefined; now: Said }>): Promise<void>
}

/** Keys that one query asks for. */
const AT_ONCE = 1000

export function createSeedMemory(database: Database, secret: KeyObject, kind: SeedKind): SeedMemory {
  const toMap = (rows: readonly { key: string; said: Said }[]) =>
    new Map(rows.map(({ key, said }) => [key, said]))

  return {
    digest(key, members) {
      const hash = (member: string, value: unknown): string =>
        createHmac('sha256', secret)
          .update(JSON.stringify([kind, key, member, canonical(value)]))
          .digest('base64url')
      return Object.fromEntries(
        Object.entries(members).map(([member, value]) => [member, hash(member, value)]),
      )
    },
    async recall(keys) {
      const rows = []
      for (const part of partsOf(keys, AT_ONCE))
        rows.push(...(await database.query(statements.find, [kind, part])))
      return toMap(rows)
    },
    lock: async (query, keys) => toMap(await query(statements.lock, [kind, keys])),
    async remember(query, said) {
      const rows = [...said].map(([key, { before, now }]) => ({
        isNew: before === undefined,
        row: { kind, key, said: { ...before, ...now } },
      }))
      for (const isNew of [true, false]) {
        const some = rows.filter((one) => one.isNew === isNew).map(({ row }) => row)
        if (some.length > 0)
          await query(isNew ? statements.insert : statements.update, [JSON.stringify(some)])
      }
    },
  }
}

/** The members that are said otherwise than before. */
export function changedIn(now: Said, before: Said | undefined): string[] {
  return Object.keys(now).filter((member) => now[member] !== before?.[member])
}

/** Whether anything is said otherwise, or the thing was never spoken of: one may be nothing but its name. */
export function isNews(now: Said, before: Said | undefined): boolean {
  return before === undefined || changedIn(now, before).length > 0
}

export function partsOf<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
    all.slice(at * size, (at + 1) * size),
  )
}

/** One text for one value, in whatever order its members are written. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([name, one]) => [name, canonical(one)] as const)
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
