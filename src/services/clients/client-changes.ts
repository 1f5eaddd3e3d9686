/**
 * Stores what becomes of clients, whoever asks. Whether it may is found out first, outside of any transaction, since plugins may
 * ask elsewhere; what is stored then is what was judged, or it is judged once more.
 */
import type { EntityManager } from '@mikro-orm/postgresql'
import { randomUUID } from 'node:crypto'
import { Client } from '../../entities/client.ts'
import { Consent } from '../../entities/consent.ts'
import { OWN_CLOCK_SKEW } from '../../protocol/age-of.ts'
import { changesBetween } from '../../protocol/changes.ts'
import type { ClientInformation } from '../../protocol/client-metadata.ts'
import { reason } from '../../protocol/message.ts'
import { applyMetadata, toMetadata, type StoredClient } from '../../protocol/stored-client.ts'
import { OAuthError, metadataError } from '../../protocol/errors.ts'
import { persistChange } from '../../store/changes.ts'
import { findClientRow, type ClientRow } from '../../store/clients.ts'
import type { Database } from '../../store/database.ts'
import { isDuplicate } from '../../store/failures.ts'
import { claimScopeName, NameTaken } from '../../store/name-claims.ts'
import type { AuditTrail, Note } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import { lockWithSecrets, toInformation } from './client-finder.ts'
import type { ClientPolicies } from './client-policies.ts'
import { isUsable, type NewSecret, type StoredSecret } from './client-secrets.ts'
import { assertNotTaken, namesScope, type Strictness } from './scope-names.ts'
import { addSecret, removeSecrets, removeUnusable, replaceSecrets } from './secret-rows.ts'

/** What a client is to become. */
export interface WantedClient {
  readonly client: StoredClient
  /** A new one, in the place of those that it has. */
  readonly secret?: NewSecret | undefined
  /** Whether those that it has end. Default false. */
  readonly withoutSecret?: boolean
}

interface Judged {
  readonly isServed?: Strictness['isServed'] | undefined
}

export interface ClientChanges {
  /**
   * A new one; `isNamed` where somebody chose its client_id. `along` stores what belongs to it, in its transaction, which may run
   * again. Throws `OAuthError`.
   */
  add(
    wanted: WantedClient,
    options?: Judged & { isNamed?: boolean; along?: (em: EntityManager) => Promise<void> },
  ): Promise<ClientInformation>
  /** What `want` makes of the client as it is; asked again when that has changed meanwhile. Throws `OAuthError`. */
  alter(
    clientId: string,
    want: (client: StoredClient, had: readonly StoredSecret[]) => WantedClient,
    options?: Judged,
  ): Promise<ClientInformation>
  /** False where there is none, it came by another door than `registrar`, where that is given, or `unless` says so, in its transaction. */
  remove(
    clientId: string,
    registrar?: string,
    unless?: (em: EntityManager) => Promise<boolean>,
  ): Promise<boolean>
  /** A transaction that changes this client, told to all processes; undefined is returned by one that did nothing. */
  within<T>(clientId: string, work: (em: EntityManager, note: Note) => Promise<T>): Promise<T>
}

/** @internal */
export interface ClientChangesOptions {
  database: Database
  audit: AuditTrail
  feed: ChangeFeed
  policies: ClientPolicies
}

const TRIES = 8

/** @internal */
export function createClientChanges({
  database,
  audit,
  feed,
  policies,
}: ClientChangesOptions): ClientChanges {
  async function within<T>(
    clientId: string,
    work: (em: EntityManager, note: Note) => Promise<T>,
  ): Promise<T> {
    const result = await audit.transactional(async (em, note) => {
      const done = await work(em, note)
      if (done !== undefined) persistChange(em, 'client', clientId)
      return done
    })
    if (result !== undefined) await feed.announce('client', clientId)
    return result
  }

  /** Undefined where the client is another by now. */
  async function store(
    { clientId, revision }: ClientRow,
    { client: wanted, secret, withoutSecret = false }: WantedClient,
  ): Promise<ClientInformation | undefined> {
    return within(clientId, async (em, note) => {
      const client = await lockWithSecrets(em, clientId)
      if (client?.revision !== revision) return undefined
      const before = toInformation(client)
      em.assign(client, { ...wanted, revision: randomUUID() })
      removeUnusable(client)
      if (secret !== undefined) replaceSecrets(em, client, secret)
      else if (withoutSecret) removeSecrets(client)
      const after = toMetadata(wanted, secret !== undefined || client.secrets.length > 0)
      const changes = changesBetween(before, after)
      if (Object.keys(changes).length > 0)
        note({ type: 'client.changed', client: clientId, details: { changes } })
      if (secret !== undefined)
        note({ type: 'client.secret_rotated', client: clientId, details: { overlap: 0 } })
      return after
    })
  }

  return {
    within,
    async remove(clientId, registrar, unless) {
      if (clientId === '') return false
      const which = registrar === undefined ? { clientId } : { clientId, registrar }
      return within(clientId, async (em, note) => {
        const isGone = (await unless?.(em)) !== true && (await em.nativeDelete(Client, which)) > 0
        if (isGone) await em.nativeDelete(Consent, { client: clientId })
        const clients = [{ client: clientId, sids: [] }]
        if (isGone) note({ type: 'client.deleted', client: clientId, details: { clients } })
        return isGone
      })
    },
    async add({ client: wanted, secret }, { isNamed = false, isServed, along } = {}) {
      const { clientId } = wanted
      assertNotTaken(clientId)
      await policies.check(wanted, secret !== undefined, isServed)
      const registered = toMetadata(wanted, secret !== undefined)
      const { raw } = await import('@mikro-orm/core')
      try {
        return await within(clientId, async (em, note) => {
          const client = em.create(Client, wanted, { persist: true })
          // What the client is given later bears the database's time: with a createdAt ahead of that it would count as a former client's
          // (`isOfClient`).
          // By a clock that is behind, what a former client of this client_id was given would be its own.
          client.createdAt = raw(`greatest(least(?, now()), now() - interval '${OWN_CLOCK_SKEW} seconds')`, [
            new Date(),
          ])
          if (secret !== undefined) addSecret(em, client, secret)
          await em.flush()
          if (isNamed) await claimScopeName(em, clientId)
          await along?.(em)
          const changes = changesBetween({}, registered)
          note({ type: 'client.registered', client: clientId, details: { changes } })
          return registered
        })
      } catch (error) {
        if (error instanceof NameTaken) throw namesScope()
        if (isDuplicate(error)) throw metadataError('client_id', reason('is already registered'))
        throw error
      }
    },
    async alter(clientId, want, { isServed } = {}) {
      for (let tried = 1; tried <= TRIES; tried++) {
        const row = clientId === '' ? null : await findClientRow(database, clientId)
        if (row === null) throw unknownClient()
        const wanted = want(storedOf(row), row.secrets)
        const { client, secret, withoutSecret = false } = wanted
        const keeps =
          row.secrets.some((one) => isUsable(one, client.tokenEndpointAuthMethod)) && !withoutSecret
        await policies.check(client, secret !== undefined || keeps, isServed)
        const stored = await store(row, wanted)
        if (stored !== undefined) return stored
      }
      throw new OAuthError('temporarily_unavailable', 'the client is being changed by others; try again')
    },
  }
}

/** Each column has its value, so that it also replaces all of one that is stored. */
export function newClient(clientId: string, members: ClientInformation): StoredClient {
  const nothing = { clientName: null, responseTypes: null, grantTypes: null, tokenEndpointAuthMethod: null }
  const client: StoredClient = { clientId, ...nothing, redirectUris: [], scope: [], metadata: {} }
  applyMetadata(client, members)
  return client
}

/** A copy, to be changed. */
function storedOf(row: ClientRow): StoredClient {
  const { clientId, clientName, redirectUris, responseTypes, grantTypes } = row
  const { tokenEndpointAuthMethod, scope, metadata, registrar } = row
  const uris = { redirectUris, responseTypes, grantTypes }
  return structuredClone({
    clientId,
    clientName,
    ...uris,
    tokenEndpointAuthMethod,
    scope,
    metadata,
    registrar,
  })
}

export function unknownClient(): Error {
  return metadataError('client_id', reason('is not registered'))
}
