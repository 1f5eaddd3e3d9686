/**
 * Clients, users, scopes and resources in memory: bounded, loaded once however many requests wait, read again when the
 * change feed says so. What the token endpoint needs of them costs no statement.
 */
import type { Client } from '../doors/client.ts'
import type { ClientSource } from '../doors/client-source.ts'
import { findClientRow, statements } from '../store/clients.ts'
import { isUuid } from '../protocol/uuid.ts'
import type { Database } from '../store/database.ts'
import { type NamedRow, namedIn } from '../store/resource-names.ts'
import { slashless } from '../protocol/resource-identifier.ts'
import { statements as records } from '../store/user-records.ts'
import { findUserRow } from '../store/users.ts'
import type { ChangeFeed } from './change-feed.ts'
import type { Profiles } from './clients/profiles.ts'
import { toClient } from './clients/served-client.ts'
import { createUnregisteredClients } from './clients/unregistered-clients.ts'
import { createCache } from './directory-cache.ts'
import { toUser, type User } from './users/user.ts'

/** What is registered of a resource. Written out, since plugins read it: what is stored is our own affair. */
export interface ResourceEntry {
  readonly resource: string
  /** For the consent page. */
  readonly name: string | null | undefined
  readonly aliases: readonly string[]
  readonly accessTokenFormat: string | null | undefined
  /** Seconds. */
  readonly accessTokenLifetime: number | null | undefined
  readonly dpopBoundAccessTokens: boolean | null | undefined
  readonly tlsClientCertificateBoundAccessTokens: boolean | null | undefined
}

/** What is registered of a scope. */
export interface ScopeEntry {
  /** Null for the default resource. */
  readonly resource: string | null
  /** For the consent page. */
  readonly description: string | null
  readonly registered: boolean
}

export interface Directory {
  /** One that is not registered here as it was last known: nobody else is asked. */
  findClient(clientId: string): Promise<Client | null>
  /** Who begins something: one that is not registered here as it is now. Throws `OAuthError` where that cannot be read, or taken. */
  admitClient(clientId: string): Promise<Client | null>
  /** Only from memory: undefined also for a client that nobody has asked for lately. */
  cachedClient(clientId: string): Client | undefined
  /** Always from the database, by one statement; one that is not registered here as it is now, or was for a while. */
  reloadClient(clientId: string): Promise<Client | null>
  /** By the id, also a disabled one; what a client calls them is `subjectOf`. */
  findUser(id: string): Promise<User | null>
  /** Always from the database, by one statement. */
  reloadUser(id: string): Promise<User | null>
  /** Has what is known of a user read anew: who they are, and of which kinds there are records of theirs. */
  renewUser(id: string): Promise<void>
  /** The kinds of which plugins keep records of a user: those of factors are right, of others it may have changed. */
  recordKindsOf(userId: string): Promise<ReadonlySet<string>>
  /** The resource that each scope belongs to; null for the default resource. */
  resourcesOf(scopes: Iterable<string>): Promise<ReadonlyMap<string, string | null>>
  findResource(identifier: string): Promise<ResourceEntry | null>
  /** The identifier of the resource that is called so: by it or by an alias, with a slash at the end or not; null for none. */
  resourceNamed(name: string): Promise<string | null>
  findScope(name: string): Promise<ScopeEntry>
}

/** @internal */
export function createDirectory(
  database: Database,
  feed: ChangeFeed,
  profiles?: Pick<Profiles, 'served' | 'conflictOf'>,
  sources: () => ReadonlyMap<string, ClientSource> = () => new Map(),
): Directory {
  const unregistered = createUnregisteredClients(sources, profiles)
  const clients = createCache(async (clientId) => {
    const row = await findClientRow(database, clientId)
    return row === null ? null : toClient(row, profiles)
  }, feed)
  const users = createCache(async (id) => {
    const row = await findUserRow(database, id)
    return row === null ? null : toUser(row)
  }, feed)
  const recordKinds = createCache<ReadonlySet<string>>(async (id) => {
    const rows = isUuid(id) ? await database.query(records.kinds, [id]) : []
    return new Set(rows.map(({ kind }) => kind))
  }, feed)
  const scopes = createCache<ScopeEntry>(async (name) => {
    const [row] = await database.query(statements.scopes, [[name]])
    const { resource = null, description = null } = row ?? {}
    return { resource, description, registered: row !== undefined }
  }, feed)
  const resources = createCache<ResourceEntry | null>(async (identifier) => {
    const [row] = await database.query(statements.resources, [[identifier]])
    return row ?? null
  }, feed)
  /** By names without a slash at the end. */
  const named = createCache<readonly NamedRow[] | null>(async (name) => {
    const rows = await namedIn(database.query, [`${name}/`])
    return rows.length === 0 ? null : rows
  }, feed)

  feed.onAny('client', async (keys) => {
    for (const key of keys) unregistered.forget(key)
    const isNamed = (name: string): boolean => keys.has(name)
    await clients.refresh((clientId, client) => isNamed(clientId) || (client?.scope.some(isNamed) ?? false))
  })
  feed.onAny('user', async (keys) => {
    await users.renew(keys)
    await recordKinds.renew(keys)
  })
  feed.onAny('scope', async (keys) => scopes.renew(keys))
  feed.on('resource', async ({ key }) => {
    await resources.renew([key])
    await named.refresh(
      (name, rows) => name === slashless(key) || (rows?.some(({ resource }) => resource === key) ?? false),
    )
    await scopes.refresh((_, scope) => scope.resource === key)
  })
  feed.onGap(async () => {
    unregistered.clear()
    for (const cache of [clients, users, recordKinds, scopes, resources, named]) cache.clear()
  })

  return {
    async findClient(clientId) {
      await feed.catchUp()
      const known = clients.peek(clientId) ?? unregistered.peek(clientId)
      return known ?? (await clients.reload(clientId)) ?? unregistered.recall(clientId)
    },
    async admitClient(clientId) {
      await feed.catchUp()
      const registered = clients.peek(clientId)
      if (registered !== undefined) return registered
      const isKnown = unregistered.peekServed(clientId) !== undefined
      return (isKnown ? null : await clients.reload(clientId)) ?? unregistered.admit(clientId)
    },
    cachedClient: (clientId) => clients.peek(clientId) ?? unregistered.peekServed(clientId),
    async reloadClient(clientId) {
      return (await clients.reload(clientId)) ?? unregistered.find(clientId)
    },
    findUser: async (id) => users.get(id),
    reloadUser: async (id) => users.reload(id),
    async renewUser(id) {
      await Promise.all([users.reload(id), recordKinds.reload(id)])
    },
    recordKindsOf: async (id) => recordKinds.get(id),
    findResource: async (identifier) => resources.get(identifier),
    async resourceNamed(name) {
      const rows = (await named.get(slashless(name))) ?? []
      const exact = rows.find(({ resource, alias }) => alias === null && resource === name)
      return (exact ?? rows[0])?.resource ?? null
    },
    findScope: async (name) => scopes.get(name),
    async resourcesOf(names) {
      const found = new Map<string, string | null>()
      for (const name of names) found.set(name, (await scopes.get(name)).resource)
      return found
    },
  }
}
