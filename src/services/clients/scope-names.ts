/** The names in a client's `scope` that mean nothing yet: no scope is registered under them, and no client. */
import { OPENID_SCOPES } from '../../protocol/scope.ts'
import { statements } from '../../store/clients.ts'
import type { Database } from '../../store/database.ts'
import { TOKEN_INTROSPECTION } from '../directory.ts'

/** Those of `scopes`, in their order. They are granted all the same, for the default resource. */
export type FindUnregistered = (scopes: Iterable<string>) => Promise<readonly string[]>

const KNOWN = new Set([...OPENID_SCOPES, TOKEN_INTROSPECTION])

/** @internal */
export function createFindUnregistered(database: Database): FindUnregistered {
  return async (scopes) => {
    const names = [...new Set(scopes)].filter((name) => !KNOWN.has(name))
    if (names.length === 0) return []
    const found = new Set((await database.query(statements.registeredNames, [names])).map(({ name }) => name))
    return names.filter((name) => !found.has(name))
  }
}
