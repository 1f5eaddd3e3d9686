/**
 * Clients, scopes and resources in memory: bounded, loaded once however many requests wait, dropped when the
 * change feed says so. What the token endpoint needs of them costs no statement.
 */
import { LRUCache } from 'lru-cache'
import type { Client } from '../doors.ts'
import { effectiveGrantTypes, toMetadata } from '../protocol/client-metadata.ts'
import { findClientRow, statements, type ClientRow } from '../store/clients.ts'
import type { Database } from '../store/database.ts'
import type { ChangeFeed } from './change-feed.ts'
import type { StoredSecret } from './client-secrets.ts'

/** A client together with what only client authentication may see. */
export interface ClientEntry {
  readonly client: Client
  readonly secrets: readonly StoredSecret[]
}

export interface ResourceEntry {
  readonly resource: string
  readonly accessTokenFormat: string | null
  /** Seconds. */
  readonly accessTokenLifetime: number | null
}

export interface Directory {
  findClient(clientId: string): Promise<Client | null>
  findClientEntry(clientId: string): Promise<ClientEntry | null>
  /** The resource that each scope belongs to; null for the default resource. */
  resourcesOf(scopes: Iterable<string>): Promise<ReadonlyMap<string, string | null>>
  findResource(identifier: string): Promise<ResourceEntry | null>
}

const MAX_ENTRIES = 20_000
/** The right to introspect other clients' tokens: named in a scope list, never granted. */
export const TOKEN_INTROSPECTION = 'token_introspection'

export function createDirectory(database: Database, feed: ChangeFeed): Directory {
  const clients = createCache(async (clientId) => {
    const row = await findClientRow(database, clientId)
    return row === null ? null : toEntry(row)
  }, feed)
  const scopes = createCache(async (name) => {
    const [row] = await database.query(statements.scopes, [[name]])
    return { resource: row?.resource ?? null }
  }, feed)
  const resources = createCache<ResourceEntry | null>(async (identifier) => {
    const [row] = await database.query(statements.resources, [[identifier]])
    if (row === undefined) return null
    const { resource, accessTokenFormat = null, accessTokenLifetime = null } = row
    return { resource, accessTokenFormat, accessTokenLifetime }
  }, feed)

  feed.on('client', ({ key }) => {
    clients.drop((clientId, entry) => clientId === key || (entry?.client.scope.includes(key) ?? false))
  })
  feed.on('scope', ({ key }) => scopes.drop((name) => name === key))
  feed.on('resource', ({ key }) => {
    resources.drop((identifier) => identifier === key)
    scopes.drop((_, scope) => scope.resource === key)
  })
  feed.onGap(async () => {
    for (const cache of [clients, scopes, resources]) cache.drop(() => true)
  })

  const findClientEntry = async (clientId: string): Promise<ClientEntry | null> => clients.get(clientId)
  return {
    findClientEntry,
    findClient: async (clientId) => (await findClientEntry(clientId))?.client ?? null,
    findResource: async (identifier) => resources.get(identifier),
    async resourcesOf(names) {
      const found = new Map<string, string | null>()
      for (const name of names) found.set(name, (await scopes.get(name)).resource)
      return found
    },
  }
}

interface Cache<T> {
  get(key: string): T | Promise<T>
  drop(which: (key: string, value: T) => boolean): void
}

function createCache<T>(load: (key: string) => Promise<T>, feed: ChangeFeed): Cache<T> {
  const entries = new LRUCache<string, { value: T }>({ max: MAX_ENTRIES })
  const loading = new Map<string, Promise<T>>()
  /** Grows with each drop: what was read before one must not be kept after it. */
  let generation = 0

  async function loadOnce(key: string): Promise<T> {
    const begun = generation
    const value = await load(key)
    // What is not there is asked for again: made-up ids must not crowd out real ones.
    if (value !== null && begun === generation) entries.set(key, { value })
    return value
  }

  return {
    get(key) {
      feed.assertFresh()
      const entry = entries.get(key)
      if (entry !== undefined) return entry.value
      let pending = loading.get(key)
      if (pending === undefined) {
        const started = loadOnce(key).finally(() => {
          if (loading.get(key) === started) loading.delete(key)
        })
        loading.set(key, (pending = started))
      }
      return pending
    },
    drop(which) {
      generation++
      loading.clear()
      for (const [key, { value }] of entries.entries()) if (which(key, value)) entries.delete(key)
    },
  }
}

function toEntry(row: ClientRow): ClientEntry {
  const { secrets, scopeClients, createdAt: _createdAt, ...stored } = row
  const reserved = new Set([...scopeClients, TOKEN_INTROSPECTION])
  const method = row.tokenEndpointAuthMethod ?? undefined
  const client: Client = {
    clientId: row.clientId,
    registeredAt: row.createdAt.getTime(),
    scope: row.scope,
    grantableScopes: new Set(row.scope.filter((name) => !reserved.has(name))),
    grantTypes: new Set(effectiveGrantTypes(stored, secrets.length > 0)),
    authenticationMethod: method,
    metadata: Object.freeze(toMetadata(stored, secrets.length > 0)),
    isPublic: () => method === 'none',
  }
  return { client: Object.freeze(client), secrets }
}
