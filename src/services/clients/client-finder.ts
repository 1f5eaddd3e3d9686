/** Finds clients: by their client_id, in its order, and by the beginning of it or of their name; and tells a secret of theirs. */
import type { EntityManager } from '@mikro-orm/postgresql'
import { Client } from '../../entities/client.ts'
import type { ClientInformation } from '../../protocol/client-metadata.ts'
import { toMetadata } from '../../protocol/stored-client.ts'
import { type Page, type Place, readPage } from '../../store/begins-with.ts'
import { findClientRow, statements, type ClientRow, type ListedRow } from '../../store/clients.ts'
import type { Database } from '../../store/database.ts'
import type { ClientSecrets } from './client-secrets.ts'

export interface ClientLists {
  /** By client_id, from the one after `after`, at most `limit`. */
  list(after?: string, limit?: number): Promise<ClientInformation[]>
  /** Those whose client_id, or name in any case, begins with `text`: by what was found, at most `limit` (100). */
  search(text: string, options?: { after?: Place; limit?: number }): Promise<Page<ClientInformation>>
}

export interface ClientFinder extends ClientLists {
  /** The client without its secrets, or null. */
  find(clientId: string): Promise<ClientInformation | null>
  /** Whether `secret` is the client's now. */
  hasSecret(clientId: string, secret: string): Promise<boolean>
}

/** @internal */
export async function lockWithSecrets(em: EntityManager, clientId: string): Promise<Client | null> {
  if (clientId === '') return null
  // Locked first: the secrets that are read then are those of this revision.
  const { PESSIMISTIC_WRITE: lockMode } = (await import('@mikro-orm/core')).LockMode
  const client = await em.findOne(Client, { clientId }, { lockMode })
  if (client !== null) await em.populate(client, ['secrets'])
  return client
}

/**
 * What is registered of a client that was read with its secrets.
 * @internal
 */
export function toInformation(client: Client): ClientInformation {
  return toMetadata(client, client.secrets.length > 0)
}

/** @internal */
export function createClientLists({ query }: Pick<Database, 'query'>): ClientLists {
  const toListed = ({ hasSecret, ...client }: ListedRow): ClientInformation => toMetadata(client, hasSecret)
  return {
    list: async (after = '', limit = 100) => (await query(statements.list, [after, limit])).map(toListed),
    async search(text, { after = { at: '', id: '' }, limit = 100 } = {}) {
      const read = async ({ at, id }: Place, most: number) => query(statements.search, [text, most, at, id])
      const { found, next } = await readPage(read, { after, limit })
      const ids = found.map(({ id }) => id)
      const clients = await query(statements.listed, [ids])
      const inOrder = clients.toSorted((a, b) => ids.indexOf(a.clientId) - ids.indexOf(b.clientId))
      return { found: inOrder.map(toListed), next }
    },
  }
}

/** @internal */
export function createClientFinder(database: Database, secrets: ClientSecrets): ClientFinder {
  const findRow = async (clientId: string): Promise<ClientRow | null> =>
    clientId === '' ? null : findClientRow(database, clientId)

  return {
    async find(clientId) {
      const client = await findRow(clientId)
      return client === null ? null : toMetadata(client, client.secrets.length > 0)
    },
    ...createClientLists(database),
    async hasSecret(clientId, secret) {
      const stored = (await findRow(clientId))?.secrets ?? []
      return (await secrets.verify(secret, stored, Date.now())) !== undefined
    },
  }
}
