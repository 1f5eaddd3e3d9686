/**
 * The one way in which clients come to be and change, whoever asks: code, SEED_FILE, the command line, the pages.
 * It speaks the names of RFC 7591, with `scope` as a list; what it refuses, it refuses with the field and the reason.
 * Finding them is in `client-finder.ts`.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { FastifyBaseLogger } from 'fastify'
import type { TObject } from 'typebox'
import { parseMetadata, type ClientInformation } from '../../protocol/client-metadata.ts'
import { metadataError, OAuthError } from '../../protocol/errors.ts'
import {
  applyMetadata,
  nullMembers,
  removeMembers,
  toMetadata,
  type StoredClient,
} from '../../protocol/stored-client.ts'
import { findClientRow } from '../../store/clients.ts'
import type { Database } from '../../store/database.ts'
import { newClient, unknownClient, type ClientChanges, type WantedClient } from './client-changes.ts'
import { createClientFinder, lockWithSecrets, type ClientFinder } from './client-finder.ts'
import type { ClientPolicies, Unserved } from './client-policies.ts'
import type { ClientSecrets } from './client-secrets.ts'
import { replaceSecrets } from './secret-rows.ts'
import {
  assertNotTaken,
  createFindUnregistered,
  createScopeJudge,
  type FindUnregistered,
  type Strictness,
} from './scope-names.ts'

export interface Judged {
  /** Asked of the client as it is when it is changed: what it throws is thrown, and nothing is done. */
  judge?: (client: ClientInformation) => void
}

export interface Rotation extends Judged {
  /** The secret that it is to replace, as `currentSecret` named it, and no other. */
  former?: string | undefined
}

export interface Registering extends Strictness {
  /** Whether one that needs a secret, of which none is given, gets one that is generated. Default true. */
  generateSecret?: boolean
  /** @internal What goes with it. */
  along?: AlongNew
}

/** @internal What goes with a new client, in its transaction, which may run again; whether a secret of it is told. */
export type AlongNew = (em: EntityManager, clientId: string, tellsSecret: boolean) => Promise<void>

/**
 * Nothing was done: the secret was replaced meanwhile.
 * @internal
 */
export class SecretReplaced extends OAuthError {
  constructor() {
    super('invalid_request', 'the secret was replaced meanwhile')
  }
}

export interface ClientRegistry extends ClientFinder {
  /**
   * Registers a client. Where it needs a secret and none is given, the result carries a generated `client_secret`:
   * this once, and never again; with `generateSecret: false` it stays without, and cannot authenticate yet.
   * Throws `OAuthError` (`invalid_client_metadata`, `invalid_redirect_uri`).
   */
  create(metadata: unknown, options?: Registering): Promise<ClientInformation>
  /** Throws as `create` would, and stores nothing; what nothing serves is returned, not warned of. */
  check(metadata: unknown): Promise<Unserved[]>
  /** Stores what was assigned to a client that `find` or `create` returned; the next token has it. */
  save(client: ClientInformation): Promise<ClientInformation>
  /** Lays members over those of a client; one that is null is taken away. Throws when it is not there. */
  update(clientId: string, members: unknown, options?: Strictness & Judged): Promise<ClientInformation>
  /** Names in a `scope` list under which neither a scope nor a client is registered. */
  unregisteredScopes: FindUnregistered
  /**
   * A new secret, returned once. The one before it goes on working for `overlap` seconds, and those before that for as long as
   * they were given, up to five in all; without `overlap` all of them end. Throws `OAuthError`: `invalid_client_metadata` that names `client_id`
   * for one that is not there, and `token_endpoint_auth_method` for one whose method has no secret; `invalid_request` where `former` was replaced
   * meanwhile; and what `judge` throws.
   */
  rotateSecret(clientId: string, overlap?: number, options?: Rotation): Promise<ClientInformation>
  /** What names the secret that was made last, for `former`, and says nothing of it; `''` for none, and for a client that is not there. */
  currentSecret(clientId: string): Promise<string>
  /** False when there was none. Its tokens are dead within two seconds. */
  delete(clientId: string, options?: Judged): Promise<boolean>
  /** The members of client metadata that plugins added. */
  extensions(): readonly TObject[]
}

/** @internal */
export interface ClientRegistryOptions {
  database: Database
  changes: ClientChanges
  secrets: ClientSecrets
  policies: ClientPolicies
  log: FastifyBaseLogger
}

/** @internal */
export function createClientRegistry({
  database,
  changes,
  secrets,
  policies,
  log,
}: ClientRegistryOptions): ClientRegistry {
  const finder = createClientFinder(database, secrets)
  const unregisteredScopes = createFindUnregistered(database)
  const judgeScopes = createScopeJudge(unregisteredScopes, log)

  const parse = (input: unknown): ClientInformation => {
    const parsed = parseMetadata(input, policies.schemas())
    const { members, unknown } = parsed
    policies.assertInsecureAllowed(parsed.insecure)
    const client = members.client_id
    for (const member of unknown)
      log.warn({ client, member: member.slice(0, 100) }, 'unknown client metadata is ignored')
    policies.warnOf(client, parsed)
    return members
  }

  async function check(input: unknown): Promise<Unserved[]> {
    const { members, insecure } = parseMetadata(input, policies.schemas())
    policies.assertInsecureAllowed(insecure)
    const client = newClient(members.client_id ?? '', members)
    policies.assertSecretUsed(members.client_secret, client)
    assertNotTaken(members.client_id)
    return policies.inspect(client, members.client_secret !== undefined)
  }

  async function create(
    input: unknown,
    { generateSecret = true, strict = false, isServed, along }: Registering = {},
  ): Promise<ClientInformation> {
    const members = parse(input)
    const clientId = members.client_id ?? randomUUID()
    const tellOfScopes = await judgeScopes(clientId, members.scope, strict)
    const needed = policies.needsSecret(members.token_endpoint_auth_method)
    const client = newClient(clientId, members)
    policies.assertSecretUsed(members.client_secret, client)
    const generated =
      needed && generateSecret && members.client_secret === undefined
        ? secrets.generate(client.tokenEndpointAuthMethod)
        : undefined
    const secret = members.client_secret ?? generated
    const hash = secret === undefined ? undefined : await secrets.hash(secret)
    const wanted = { client, secret: secrets.toStore(client, secret, hash) }
    const registered = await changes.add(wanted, {
      isServed,
      isNamed: members.client_id !== undefined,
      along: async (em) => along?.(em, clientId, generated !== undefined),
    })
    tellOfScopes()
    return { ...registered, ...(generated === undefined ? {} : { client_secret: generated }) }
  }

  async function update(
    clientId: string,
    input: unknown,
    { strict = false, isServed, judge }: Strictness & Judged = {},
  ): Promise<ClientInformation> {
    const members = parse(input)
    if (members.client_id !== undefined && members.client_id !== clientId)
      throw metadataError('client_id', 'cannot be changed')
    const tellOfScopes = await judgeScopes(clientId, members.scope, strict)
    const hash = members.client_secret === undefined ? undefined : await secrets.hash(members.client_secret)
    const want = (client: StoredClient): WantedClient => {
      judge?.(toMetadata(client, false))
      removeMembers(client, nullMembers(input))
      applyMetadata(client, members)
      policies.assertSecretUsed(members.client_secret, client)
      return { client, secret: secrets.toStore(client, members.client_secret, hash) }
    }
    const updated = await changes.alter(clientId, want, { isServed })
    tellOfScopes()
    return updated
  }

  async function save(wanted: ClientInformation): Promise<ClientInformation> {
    const clientId = wanted.client_id ?? ''
    const current = await finder.find(clientId)
    if (current === null) throw unknownClient()
    const { client_secret: _shownOnce, ...members } = wanted
    const changed = Object.entries(members).filter(
      ([name, value]) => !isDeepStrictEqual(value, current[name]),
    )
    return changed.length === 0 ? current : update(clientId, Object.fromEntries(changed))
  }

  async function rotateSecret(
    clientId: string,
    overlap = 0,
    { judge, former }: Rotation = {},
  ): Promise<ClientInformation> {
    return changes.within(clientId, async (em, note) => {
      // Of two at once, the second sees the secret of the first.
      const client = await lockWithSecrets(em, clientId)
      if (client === null) throw unknownClient()
      judge?.(toMetadata(client, true))
      if (former !== undefined && former !== currentOf(client.secrets.getItems())) throw new SecretReplaced()
      client.revision = randomUUID()
      if (!policies.needsSecret(client.tokenEndpointAuthMethod ?? undefined)) {
        throw metadataError('token_endpoint_auth_method', `${client.tokenEndpointAuthMethod} has no secret`)
      }
      const secret = secrets.generate(client.tokenEndpointAuthMethod)
      replaceSecrets(em, client, secrets.toStore(client, secret, await secrets.hash(secret))!, overlap)
      note({ type: 'client.secret_rotated', client: clientId, details: { overlap } })
      return { ...toMetadata(client, true), client_secret: secret }
    })
  }

  return {
    ...finder,
    unregisteredScopes,
    create,
    check,
    update,
    save,
    rotateSecret,
    currentSecret: async (clientId) =>
      currentOf(clientId === '' ? [] : ((await findClientRow(database, clientId))?.secrets ?? [])),
    async delete(clientId, { judge } = {}) {
      const unless = async (em: EntityManager) => {
        const client = await lockWithSecrets(em, clientId)
        if (client !== null) judge?.(toMetadata(client, true))
        return false
      }
      return changes.remove(clientId, undefined, judge && unless)
    },
    extensions: policies.schemas,
  }
}

/** The id of the one that has no end yet. */
function currentOf(secrets: readonly { readonly id: string; readonly expiresAt?: unknown }[]): string {
  return secrets.find(({ expiresAt }) => (expiresAt ?? null) === null)?.id ?? ''
}
