/**
 * No client has the name of a scope, also where both are registered at once: they are rows of two tables, which no unique
 * key spans. So whoever registers one inserts its name into the other table too, and deletes it there in the same
 * transaction: nobody ever sees that row, and until the end of the transaction the key is taken (docs/adr/0037).
 * Clients first: a client claims its name among the scopes after it is inserted, a scope among the clients before.
 */
import type { EntityManager } from '@mikro-orm/postgresql'
import { Client } from '../entities/client.ts'
import { Scope } from '../entities/resource.ts'
import { type Query, statement } from './statement.ts'
import { isDuplicate } from './failures.ts'

/** What is claimed is there already: the transaction can do nothing more. */
export class NameTaken extends Error {
  override name = 'NameTaken'

  constructor() {
    super('a client and a scope have one name')
  }
}

/** Of the names $1; one that is there refuses them all. */
export const statements = {
  claimClients: statement('clients-claim', (table) => {
    const client = table(Client)
    const [id, ...lists] = (['clientId', 'redirectUris', 'scope', 'metadata'] as const).map(client.column)
    return `insert into ${client.name} (${id}, ${lists.join(', ')})
      select name, '{}', '{}', '{}' from unnest($1::text[]) name`
  }),
  releaseClients: statement('clients-release', (table) => {
    const client = table(Client)
    return `delete from ${client.name} where ${client.column('clientId')} = any($1)`
  }),
  claimScopes: statement('scopes-claim', (table) => {
    const scope = table(Scope)
    return `insert into ${scope.name} (${scope.column('name')}) select unnest($1::text[])`
  }),
  releaseScopes: statement('scopes-release', (table) => {
    const scope = table(Scope)
    return `delete from ${scope.name} where ${scope.column('name')} = any($1)`
  }),
}

/** For scopes that the transaction is about to insert. Throws `NameTaken`. */
export async function claimAmongClients(query: Query, names: readonly string[]): Promise<void> {
  await orTaken(query(statements.claimClients, [names]))
  await query(statements.releaseClients, [names])
}

/** For clients that the transaction has inserted. Throws `NameTaken`. */
export async function claimAmongScopes(query: Query, ids: readonly string[]): Promise<void> {
  await orTaken(query(statements.claimScopes, [ids]))
  await query(statements.releaseScopes, [ids])
}

/** `claimAmongClients` within an entity manager's transaction. */
export async function claimClientId(em: EntityManager, clientId: string): Promise<void> {
  await orTaken(em.insert(Client, { clientId, redirectUris: [], scope: [], metadata: {} }))
  await em.nativeDelete(Client, { clientId })
}

/** `claimAmongScopes` within an entity manager's transaction. */
export async function claimScopeName(em: EntityManager, name: string): Promise<void> {
  await orTaken(em.insert(Scope, { name }))
  await em.nativeDelete(Scope, { name })
}

async function orTaken(claim: Promise<unknown>): Promise<void> {
  await claim.catch((error: unknown) => {
    throw isDuplicate(error) ? new NameTaken() : error
  })
}
