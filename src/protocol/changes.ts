/** What differs between two states of a thing, member by member. */
import { isDeepStrictEqual } from 'node:util'

type Members = Readonly<Record<string, unknown>>

/** What each member that differs was, and is; null where there was, or is, none. */
export type Changes = Readonly<Record<string, readonly [before: unknown, after: unknown]>>

export function changesBetween(before: Members, after: Members): Changes {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const pairs = [...names].map((name) => [name, [before[name] ?? null, after[name] ?? null]] as const)
  return Object.fromEntries(pairs.filter(([, [was, is]]) => !isDeepStrictEqual(was, is)))
}
