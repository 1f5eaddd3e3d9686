// Owns what it takes to say what the rows of a large database look like: their sizes, and the ids by which they name
// each other.

export interface Sizes {
  users: number
  clients: number
  events: number
  /** As many as users, if nothing is said; each with its refresh token. */
  authorizations?: number
}

export interface Filling {
  table: string
  columns: string
  rows: number
  /** A select list over `generate_series … n`. */
  values: string
  /** No two rows are the same one: a large table can be loaded before its indexes are made. */
  distinct?: true
}

/** Who holds a twentieth of what users hold: the user 1; and half of what clients do: the client 1. */
export const userId = (n: number | string): string => `md5('user-' || ${n})::uuid`
export const authorizationId = (n: number | string): string => `md5('authorization-' || ${n})::uuid`

/** 43 characters, as those of tokens; translated to base64url they would take three times as long. */
export const hash = (kind: string): string => `left(encode(sha256(('${kind}-' || n)::bytea), 'base64'), 43)`
