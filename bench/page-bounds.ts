// Owns how much one statement of a page may read: rows of tables and entries of indexes, however many there are.

import type { Ran } from './plans.ts'

/** A list, a search, a page of one thing. */
const usual = 1000
const bounds: readonly (readonly [statement: RegExp, most: number])[] = [
  // Two windows of the audit log at most.
  [/^with w as \(select \* from \(\(select .* from "audit_events"/s, 10_000],
  // Users, clients and sessions, each counted up to 10000.
  [/^select \(select count\(\*\)/, 3 * 10_001],
  // Each role of a page is counted up to 10000, behind its entries in the index; here, three have many.
  [/^select given\."role"/, 6 * 10_001],
  // Roles that nobody has registered are looked for among 100000 users.
  [/^with first as materialized \(select "roles"/, 2 * 100_000],
  // The last day by the hour: types of events times processes.
  [/ from "activity"/, 5000],
  // All that live, when a server starts.
  [/ from "revoked_tokens"/, Infinity],
]

export function mostFor({ text }: Pick<Ran, 'text'>): number {
  return bounds.find(([statement]) => statement.test(text))?.[1] ?? usual
}
