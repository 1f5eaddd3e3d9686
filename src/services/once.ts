/**
 * What may be used once over all processes: the `jti` of an assertion (RFC 7523 §3) or of a proof (RFC 9449 §11.1). Many that
 * come at once travel together (docs/adr/0019), so each costs one round trip at most.
 */
import { OAuthError } from '../protocol/errors.ts'
import { hashOf } from '../protocol/handle.ts'
import type { Database } from '../store/database.ts'
import type { Query } from '../store/statement.ts'
import { statements } from '../store/spent-handles.ts'

/**
 * Whether `handle` is used for the first time: false where it was before, by any process, or where `until` has come.
 * `kind` keeps it apart from those of others; `until` is when whoever checks it takes it for good no longer, a day
 * ahead at most: throws `invalid_request` for a later one. Throws what becomes 503 while the database does not
 * answer; then it may be used or not, and is not to be taken for good.
 */
export type Once = (kind: string, handle: string, until: Date) => Promise<boolean>

/** Milliseconds: what is good for longer would have to be remembered for longer. */
const LONGEST = 86_400_000

/** @internal */
export function createOnce(database: Database): Once {
  return async (kind, handle, until) => useOnce(database.query, kind, handle, until)
}

/** @internal The same, with what else `query` stores. */
export async function useOnce(query: Query, kind: string, handle: string, until: Date): Promise<boolean> {
  if (kind === '' || kind.includes('\0')) throw new TypeError('what is used once needs a kind')
  const left = until.getTime() - Date.now()
  if (Number.isNaN(left) || left > LONGEST)
    throw new OAuthError('invalid_request', 'what may be used once must expire within a day')
  if (left <= 0) return false
  return (await query(statements.spend, [hashOf(`${kind}\0${handle}`), until])).length > 0
}
