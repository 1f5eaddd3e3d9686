/** The one way in which resources and scopes come to be, change and end: SEED_FILE, code, the command line, the pages. */
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/postgresql'
import { Client } from '../entities/client.ts'
import { Resource, Scope } from '../entities/resource.ts'
import { changesBetween, type Changes } from '../protocol/changes.ts'
import { metadataError } from '../protocol/errors.ts'
import { message, reason, withValues } from '../protocol/message.ts'
import {
  assertResource,
  assertScope,
  type Laid,
  type ResourceInformation,
  type ScopeInformation,
} from '../protocol/resource-information.ts'
import { persistChange, recordChange } from '../store/changes.ts'
import { statements } from '../store/clients.ts'
import type { Database } from '../store/database.ts'
import { isDuplicate } from '../store/failures.ts'
import { claimClientId, NameTaken } from '../store/name-claims.ts'
import { statements as sets } from '../store/record-sets.ts'
import { namedIn } from '../store/resource-names.ts'
import type { AuditTrail, Note } from './audit/audit.ts'
import type { ChangeFeed } from './change-feed.ts'
import { TOKEN_INTROSPECTION } from './clients/served-client.ts'
import { present, resourceMembers, scopeMembers, toResource, toScope } from './resource-members.ts'
import { assertOwnNames, layResource, madeOf, storeResources } from './resource-rows.ts'

export type { ResourceInformation, ScopeInformation }

/** Clients that a refusal names. */
const NAMED = 5
const LISTED = reason('is in the scope list of clients: take it out there first ({clients})')
const UNREGISTERED = reason('is not registered')
const TAKEN = reason('is already registered')
const TRIES = 8

/** By default, what is given is laid over what may be there; `isNew` refuses what is there, or else what is not. */
export interface SaveOptions {
  isNew?: boolean
}

/** In the order of their names: from the one after `after`, at most `limit` (100). */
export interface ListOptions {
  after?: string | undefined
  limit?: number
}

export interface ResourceRegistry {
  /**
   * Registers it, or lays what is given over what is there: null takes a member away. Throws `invalid_client_metadata`
   * naming the field.
   */
  saveResource(resource: Laid<ResourceInformation>, options?: SaveOptions): Promise<void>
  saveScope(scope: Laid<ScopeInformation>, options?: SaveOptions): Promise<void>
  findResource(resource: string): Promise<ResourceInformation | null>
  findScope(name: string): Promise<ScopeInformation | null>
  listResources(options?: ListOptions): Promise<ResourceInformation[]>
  listScopes(options?: ListOptions): Promise<ScopeInformation[]>
  /** Scopes of one resource, in no order: at most `limit`. */
  scopesOf(resource: string, limit: number): Promise<ScopeInformation[]>
  /** False when there was none. Its scopes belong to the default resource from then on. */
  deleteResource(resource: string): Promise<boolean>
  /** False when there was none. Throws `invalid_client_metadata` while a client has it in its list. */
  deleteScope(name: string): Promise<boolean>
}

/** @internal */
export function createResourceRegistry(
  database: Database,
  audit: AuditTrail,
  feed: ChangeFeed,
  /** The identifier of the default resource. */
  issuer: string,
): ResourceRegistry {
  /** False where it is what is there. */
  async function store(
    given: Laid<ResourceInformation> & { resource: string },
    isNew: boolean | undefined,
  ): Promise<boolean> {
    const { resource } = given
    return audit.transaction(async (query, note) => {
      const [known] = await query(sets.lockResources, [[resource]])
      assertAsWanted('resource', known ?? null, isNew)
      const laid = layResource(known, given)
      const made = madeOf(known, resourceMembers, laid)
      if (made === undefined) return false
      assertOwnNames(made, await namedIn(query, [resource, ...laid.aliases]), issuer)
      await storeResources(query, note, [made])
      await recordChange(query, 'resource', resource)
      return true
    })
  }

  /** Runs what may be a change of a scope in a transaction, with its entry in the feed if it was, and applies it here at once. */
  async function changeScope(
    name: string,
    work: (em: EntityManager, note: Note) => Promise<boolean>,
  ): Promise<boolean> {
    const changed = await audit.transactional(async (em, note) => {
      const done = await work(em, note)
      if (done) persistChange(em, 'scope', name)
      return done
    })
    if (changed) await feed.announce('scope', name)
    return changed
  }

  async function findResource(resource: string): Promise<ResourceInformation | null> {
    const [found] = await database.query(statements.resources, [[resource]])
    return found === undefined ? null : toResource(found)
  }

  async function findScope(name: string): Promise<ScopeInformation | null> {
    const [found] = await database.query(statements.scopes, [[name]])
    return found === undefined ? null : (present(found) as unknown as ScopeInformation)
  }

  return {
    async saveResource(wanted, { isNew } = {}) {
      assertResource(wanted)
      const given = wanted as Laid<ResourceInformation> & { resource: string }
      if (isNew !== true && isAmong(given, await findResource(given.resource))) return
      if (await storedOnce(async () => store(given, isNew))) await feed.announce('resource', given.resource)
    },
    async saveScope(wanted, { isNew } = {}) {
      assertScope(wanted)
      const { name, description, resource } = wanted as Laid<ScopeInformation> & { name: string }
      if (isNew !== true && isAmong(wanted, await findScope(name))) return
      await refusingTwice('name', isNew, async () =>
        changeScope(name, async (em, note) => {
          const known = await em.findOne(Scope, { name })
          assertAsWanted('name', known, isNew)
          if (known === null) await claimName(em, name)
          const before = known === null ? {} : scopeMembers(known)
          const entity = known ?? em.create(Scope, { name }, { persist: true })
          if (description !== undefined) entity.description = description
          if (resource !== undefined) {
            // Locked: it must not be deleted before the scope is there.
            const { PESSIMISTIC_READ: lockMode } = (await import('@mikro-orm/core')).LockMode
            const owner = resource === null ? null : await em.findOne(Resource, { resource }, { lockMode })
            if (owner === null && resource !== null) throw metadataError('resource', UNREGISTERED)
            entity.resource = owner
          }
          const changes = changesBetween(before, scopeMembers(entity))
          if (isEmpty(changes)) return false
          const type = known === null ? 'scope.registered' : 'scope.changed'
          note({ type, details: { scope: name, changes } })
          return true
        }),
      )
    },
    findResource,
    findScope,
    async listResources({ after = '', limit = 100 } = {}) {
      return (await database.query(sets.listResources, [after, limit])).map(toResource)
    },
    async listScopes({ after = '', limit = 100 } = {}) {
      const options = { orderBy: { name: 'asc' }, limit } as const
      const found = await database.reading(async (em) => em.find(Scope, { name: { $gt: after } }, options))
      return found.map(toScope)
    },
    async scopesOf(resource, limit) {
      return (await database.reading(async (em) => em.find(Scope, { resource }, { limit }))).map(toScope)
    },
    async deleteResource(resource) {
      const deleted = await audit.transaction(async (query, note) => {
        if ((await query(sets.deleteResource, [resource])).length === 0) return false
        await recordChange(query, 'resource', resource)
        note({ type: 'resource.deleted', details: { resource } })
        return true
      })
      if (deleted) await feed.announce('resource', resource)
      return deleted
    },
    deleteScope: async (name) =>
      changeScope(name, async (em, note) => {
        const deleted = (await em.nativeDelete(Scope, { name })) > 0
        if (deleted) await assertUnlisted(em, name)
        if (deleted) note({ type: 'scope.deleted', details: { scope: name } })
        return deleted
      }),
  }
}

/** Two that register the same at once: the second is told so, as if it had come later. */
async function refusingTwice<T>(
  member: string,
  isNew: boolean | undefined,
  work: () => Promise<T>,
): Promise<T> {
  return work().catch((error: unknown) => {
    throw isNew && isDuplicate(error) ? metadataError(member, TAKEN) : error
  })
}

/** Somebody who was first is seen the next time. */
async function storedOnce<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await work()
    } catch (error) {
      if (!isDuplicate(error) || tried >= TRIES) throw error
    }
  }
}

/** For a scope that is about to be registered. */
async function claimName(em: EntityManager, name: string): Promise<void> {
  if (name === TOKEN_INTROSPECTION)
    throw metadataError('name', reason('is the name of a right: choose another'))
  await claimClientId(em, name).catch((error: unknown) => {
    if (error instanceof NameTaken)
      throw metadataError('name', reason('is the client_id of a client: choose another'))
    throw error
  })
}

/**
 * Else the name would be free for a client, and those that have it in their lists might introspect that client's tokens;
 * until then, they would go on getting it.
 */
async function assertUnlisted(em: EntityManager, scope: string): Promise<void> {
  const options = { fields: ['clientId'], orderBy: { clientId: 'asc' }, limit: NAMED + 1 } as const
  const clients = await em.find(Client, { scope: { $contains: [scope] } }, options)
  if (clients.length === 0) return
  const all = clients.map(({ clientId }, at) => (at < NAMED ? clientId : message('others')))
  throw metadataError('name', withValues(LISTED, { clients: all }))
}

function assertAsWanted(member: string, known: object | null, isNew: boolean | undefined): void {
  if (isNew === true && known !== null) throw metadataError(member, TAKEN)
  if (isNew === false && known === null) throw metadataError(member, UNREGISTERED)
}

function isEmpty(changes: Changes): boolean {
  return Object.keys(changes).length === 0
}

/** Whether there is nothing to change: all that is wanted is what is there, or is not there if it shall be null. */
function isAmong(wanted: object, known: object | null): boolean {
  if (known === null) return false
  const members: Record<string, unknown> = { ...known }
  return Object.entries(wanted).every(
    ([name, value]) => value === undefined || isDeepStrictEqual(value, members[name] ?? null),
  )
}
