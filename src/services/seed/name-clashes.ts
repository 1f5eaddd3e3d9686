/**
 * Entries of SEED_FILE whose name is taken by the other kind: in a client's list, the name of a scope that is a client_id
 * would be the right to introspect that client's tokens, and the scope could never be granted. Nor is either called
 * like the right to introspect itself.
 */
import type { FastifyBaseLogger } from 'fastify'
import { OPENID_SCOPES } from '../../protocol/scope.ts'
import { statements as clientSets } from '../../store/client-sets.ts'
import type { Database } from '../../store/database.ts'
import { statements as recordSets } from '../../store/record-sets.ts'
import type { Statement } from '../../store/statement.ts'
import { TOKEN_INTROSPECTION } from '../clients/served-client.ts'
import type { Source } from './seed-file.ts'
import { partsOf } from './seed-memory.ts'
import type { Wanted } from './seeded-kind.ts'

/** Names that one query asks for. */
const AT_ONCE = 1000

/**
 * `scopes` and `clients` without those that may not be; each that is left out is named in a warning. What is registered
 * already stays, and of a client and a scope in one file the client: the scope would be good for nothing.
 */
export async function withoutClashes(
  scopes: readonly Wanted[],
  clients: readonly Wanted[],
  { database, log, source }: { database: Database; log: FastifyBaseLogger; source: Source },
): Promise<{ scopes: readonly Wanted[]; clients: readonly Wanted[] }> {
  const named = new Set([...scopes, ...clients].map(({ key }) => key))
  const present = async (statement: Statement<{ key: string }>): Promise<ReadonlySet<string>> => {
    const found = new Set<string>()
    for (const part of partsOf([...named], AT_ONCE))
      for (const { key } of await database.query(statement, [part])) found.add(key)
    return found
  }
  const [hadScopes, hadClients] = [await present(recordSets.presentScopes), await present(clientSets.present)]
  const kept = (
    section: string,
    wanted: readonly Wanted[],
    had: ReadonlySet<string>,
    taken: (key: string) => boolean,
    by: string,
  ) =>
    wanted.filter(({ key }) => {
      const isRight = key === TOKEN_INTROSPECTION
      if (had.has(key) || !(isRight || taken(key))) return true
      log.warn({ section, name: key }, `${source}: left out, since ${isRight ? 'a right has this name' : by}`)
      return false
    })
  const isScope = (key: string): boolean => OPENID_SCOPES.has(key) || hadScopes.has(key)
  const allowed = kept('clients', clients, hadClients, isScope, 'a scope has this name')
  const ids = new Set([...hadClients, ...allowed.map(({ key }) => key)])
  const isClient = (key: string): boolean => ids.has(key)
  return {
    clients: allowed,
    scopes: kept('scopes', scopes, hadScopes, isClient, 'a client has this client_id'),
  }
}
