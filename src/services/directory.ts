/**
 * Clients, users, scopes and resources in memory: bounded, loaded once however many requests wait, read again when the
 * change feed says so. What the token endpoint needs of them costs no statement.
 */
import type { Client } from '../doors/client.ts'
import { effectiveGrantTypes, toMetadata } from '../protocol/client-metadata.ts'
import { findClientRow, statements, type ClientRow } from '../store/clients.ts'
import { isUuid } from '../protocol/uuid.ts'
import type { Database } from '../store/database.ts'
import type { ResourceSetRow } from '../store/record-sets.ts'
import { type NamedRow, namedIn } from '../store/resource-names.ts'
import { slashless } from '../protocol/resource-identifier.ts'
import { statements as records } from '../store/user-records.ts'
import { findUserRow } from '../store/users.ts'
import { createBoundedCache } from './bounded-cache.ts'
import type { ChangeFeed } from './change-feed.ts'
import type { StoredSecret } from './clients/client-secrets.ts'
import type { Profiles } from './clients/profiles.ts'
import { toUser, type User } from './users/user.ts'

/** Where a client carries what only authentication needs: seen by nothing that lists or prints it. */
const KEPT = Symbol('kept')

interface Kept {
  readonly secrets: readonly StoredSecret[]
  readonly revision: string
}

function keptOf(client: Client | null): Kept | undefined {
  return (client as { readonly [KEPT]?: Kept } | null)?.[KEPT]
}

/** The stored secrets of a client that came from the directory; none where there is no client. */
export function secretsOf(client: Client | null): readonly StoredSecret[] {
  return keptOf(client)?.secrets ?? []
}

/** Tells how a client is registered now from how it was before: another one with each change. */
export function revisionOf(client: Client): string | undefined {
  return keptOf(client)?.revision
}

export type ResourceEntry = Readonly<ResourceSetRow>

/** What is registered of a scope. */
export interface ScopeEntry {
  /** Null for the default resource. */
  readonly resource: string | null
  /** For the consent page. */
  readonly description: string | null
  readonly registered: boolean
}

export interface Directory {
  findClient(clientId: string): Promise<Client | null>
  /** Only from memory: undefined also for a client that nobody has asked for lately. */
  cachedClient(clientId: string): Client | undefined
  /** Always from the database, by one statement. */
  reloadClient(clientId: string): Promise<Client | null>
  /** By the id, which tokens name as `sub`; also a disabled one. */
  findUser(id: string): Promise<User | null>
  /** Always from the database, by one statement. */
  reloadUser(id: string): Promise<User | null>
  /** The kinds of which plugins keep records of a user: those of factors are right, of others it may have changed. */
  recordKindsOf(userId: string): Promise<ReadonlySet<string>>
  /** The resource that each scope belongs to; null for the default resource. */
  resourcesOf(scopes: Iterable<string>): Promise<ReadonlyMap<string, string | null>>
  findResource(identifier: string): Promise<ResourceEntry | null>
  /** The identifier of the resource that is called so: by it or by an alias, with a slash at the end or not; null for none. */
  resourceNamed(name: string): Promise<string | null>
  findScope(name: string): Promise<ScopeEntry>
}

const MAX_ENTRIES = 20_000
/** The right to introspect other clients' tokens: named in a scope list, never granted. */
export const TOKEN_INTROSPECTION = 'token_introspection'

/** @internal */
export function createDirectory(
  database: Database,
  feed: ChangeFeed,
  profiles?: Pick<Profiles, 'served' | 'conflictOf'>,
): Directory {
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

  feed.on('client', async ({ key }) =>
    clients.refresh((clientId, client) => clientId === key || (client?.scope.includes(key) ?? false)),
  )
  feed.on('user', async ({ key }) => {
    await users.refresh((id) => id === key)
    await recordKinds.refresh((id) => id === key)
  })
  feed.on('scope', async ({ key }) => scopes.refresh((name) => name === key))
  feed.on('resource', async ({ key }) => {
    await resources.refresh((identifier) => identifier === key)
    await named.refresh(
      (name, rows) => name === slashless(key) || (rows?.some(({ resource }) => resource === key) ?? false),
    )
    await scopes.refresh((_, scope) => scope.resource === key)
  })
  feed.onGap(async () => {
    for (const cache of [clients, users, recordKinds, scopes, resources, named]) cache.clear()
  })

  return {
    findClient: async (clientId) => clients.get(clientId),
    cachedClient: (clientId) => clients.peek(clientId) ?? undefined,
    reloadClient: clients.reload,
    findUser: async (id) => users.get(id),
    reloadUser: users.reload,
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

interface Cache<T> {
  get(key: string): T | Promise<T>
  /** What is in memory. */
  peek(key: string): T | undefined
  /** From the database, whatever is in memory. */
  reload(key: string): Promise<T>
  /** Reads what is in memory again; throws when it cannot, and leaves it as it was. */
  refresh(which: (key: string, value: T) => boolean): Promise<void>
  clear(): void
}

function createCache<T>(load: (key: string) => Promise<T>, feed: ChangeFeed): Cache<T> {
  const entries = createBoundedCache<{ value: T }>(MAX_ENTRIES)
  const loading = new Map<string, Promise<T>>()
  /** Grows with each change: what was read before one is not good after it. */
  let generation = 0
  let refreshing = Promise.resolve()

  /** Reads again when something changed meanwhile; what keeps changing is given out and not kept. */
  async function loadOnce(key: string, tries = 3): Promise<T> {
    const begun = generation
    const value = await load(key)
    if (begun !== generation) return tries > 1 ? loadOnce(key, tries - 1) : value
    // What is not there is asked for again: made-up ids must not crowd out real ones.
    if (value === null) entries.delete(key)
    else entries.set(key, { value })
    return value
  }

  function forgetLoading(): void {
    generation++
    loading.clear()
  }

  /** Not by dropping them: if the database went away now, what it last said would be gone before its time. */
  async function readAgain(which: (key: string, value: T) => boolean): Promise<void> {
    forgetLoading()
    const changed = [...entries.entries()].filter(([key, { value }]) => which(key, value))
    await Promise.all(changed.map(async ([key]) => loadOnce(key)))
  }

  function peek(key: string): T | undefined {
    feed.assertFresh()
    return entries.get(key)?.value
  }

  async function reload(key: string): Promise<T> {
    feed.assertFresh()
    const pending = loading.get(key)
    if (pending !== undefined) return pending
    const started = loadOnce(key).finally(() => {
      if (loading.get(key) === started) loading.delete(key)
    })
    loading.set(key, started)
    return started
  }

  return {
    peek,
    reload,
    get: (key) => peek(key) ?? reload(key),
    async refresh(which) {
      // One after the other: each makes what others are reading not worth keeping.
      refreshing = refreshing.then(
        async () => readAgain(which),
        async () => readAgain(which),
      )
      return refreshing
    },
    clear() {
      forgetLoading()
      entries.clear()
    },
  }
}

function toClient(row: ClientRow, profiles?: Pick<Profiles, 'served' | 'conflictOf'>): Client {
  const { secrets, scopeClients, createdAt: _createdAt, revision, ...stored } = row
  const reserved = new Set([...scopeClients, TOKEN_INTROSPECTION])
  const method = row.tokenEndpointAuthMethod ?? undefined
  const registered = toMetadata(stored, secrets.length > 0)
  const client: Client = {
    clientId: row.clientId,
    registeredAt: row.createdAt.getTime(),
    scope: row.scope,
    grantableScopes: new Set(row.scope.filter((name) => !reserved.has(name))),
    grantTypes: new Set(effectiveGrantTypes(stored, secrets.length > 0)),
    authenticationMethod: method,
    metadata: Object.freeze(profiles?.served(registered) ?? registered),
    conflict: profiles?.conflictOf(registered),
    registrar: row.registrar ?? undefined,
    isPublic: () => method === 'none',
  }
  Object.defineProperty(client, KEPT, { value: { secrets, revision } satisfies Kept })
  return Object.freeze(client)
}
