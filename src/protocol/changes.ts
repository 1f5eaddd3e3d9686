/** What differs between two states of a thing, member by member. */
import { isDeepStrictEqual } from 'node:util'

type Members = Readonly<Record<string, unknown>>

/** What each member that differs was, and is; null where there was, or is, none. */
export type Changes = Readonly<Record<string, readonly [before: unknown, after: unknown]>>

export function changesBetween(before: Members, after: Members): Changes {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const pairs = [...names].map((name) => [name, [memberOf(before, name), memberOf(after, name)]] as const)
  return Object.fromEntries(pairs.filter(([, [was, is]]) => !isDeepStrictEqual(was, is)))
}

/** Its own: a member that somebody called `constructor` is one, and no other thing has it. */
function memberOf(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? (members[name] ?? null) : null
}
