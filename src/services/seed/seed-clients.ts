/** Clients of SEED_FILE, by the rules of the registry, many at a time. */
import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { changesBetween, type Changes } from '../../protocol/changes.ts'
import { parseMetadata } from '../../protocol/client-metadata.ts'
import { metadataError } from '../../protocol/errors.ts'
import {
  applyMetadata,
  nullMembers,
  removeMembers,
  toMetadata,
  type StoredClient,
} from '../../protocol/stored-client.ts'
import { statements, type ClientSetRow } from '../../store/client-sets.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { claimAmongScopes } from '../../store/name-claims.ts'
import type { NewEvent } from '../../events.ts'
import type { Note } from '../audit/audit.ts'
import type { ClientPolicies } from '../clients/client-policies.ts'
import { isUsable, SEALED_METHOD, type ClientSecrets, type NewSecret } from '../clients/client-secrets.ts'
import { at, warnUnknown, type Placed } from './seed-file.ts'
import type { Change, SeededKind, Wanted } from './seeded-kind.ts'

export interface SeedClientsOptions {
  database: Database
  policies: ClientPolicies
  secrets: ClientSecrets
  log: FastifyBaseLogger
  /** Seconds that a secret works beside the one that takes its place. */
  overlap: number
}

interface MadeClient {
  readonly isNew: boolean
  readonly client: StoredClient
  readonly hasSecret: boolean
  readonly secret: NewSecret | undefined
  readonly changes: Changes
}

/** What the entries say. Throws `ConfigError`. */
export function wantedClients(
  entries: readonly Placed[],
  { policies, log }: Pick<SeedClientsOptions, 'policies' | 'log'>,
): Wanted[] {
  return entries.map(({ place, entry }) =>
    at(place, () => {
      if (typeof entry['client_id'] !== 'string') throw metadataError('client_id', 'is missing')
      const { members, unknown } = parseMetadata(entry, policies.schemas())
      warnUnknown(unknown, 'clients', log)
      const { client_id: key, ...said } = members
      const without = nullMembers(entry).map((name) => [name, null] as const)
      return { key: key!, place, members: { ...said, ...Object.fromEntries(without) } }
    }),
  )
}

export function seededClients(options: SeedClientsOptions): SeededKind<ClientSetRow, MadeClient> {
  const { database, policies, secrets, log } = options
  return {
    kind: 'client',
    section: 'clients',
    kept: (row) => (row.secrets.length > 0 ? ['client_secret'] : []),
    since: ({ createdAt }) => createdAt,
    present: async (keys) => database.query(statements.present, [keys]),
    async lock(query, wanted) {
      const keys = wanted.map(({ key }) => key)
      await query(statements.hold, [keys])
      const rows = await query(statements.held, [keys])
      return new Map(rows.map((row) => [row.clientId, row]))
    },
    secret: {
      name: 'client_secret',
      async hash(value, row, { members }) {
        const secret = value as string
        const usable = row === undefined ? [] : usableSecrets(row, members)
        const same = row && (await secrets.verify(secret, usable, Date.now()))
        return same === undefined ? secrets.hash(secret) : undefined
      },
      ends: (row, { members }) => row.secrets.length > 0 && usableSecrets(row, members).length === 0,
    },
    basis: ({ row, members }) => JSON.stringify([row ?? null, Object.keys(members)]),
    async check(change) {
      const made = make(change, options)
      if (made === undefined) return
      await policies.check(made.client, made.hasSecret)
      tellOf(change, made, policies, log)
    },
    make: (change) => make(change, options),
    store: async (query, note, made) => store(query, note, made, options.overlap),
  }
}

/** Those that are right with the method that the file says, where it says one. */
function usableSecrets(
  { secrets, tokenEndpointAuthMethod }: ClientSetRow,
  { token_endpoint_auth_method: method = tokenEndpointAuthMethod }: Wanted['members'],
): ClientSetRow['secrets'] {
  return secrets.filter((one) => isUsable(one, method as string | null))
}

function make(
  { wanted, row, members: said, hash }: Change<ClientSetRow>,
  { policies, secrets }: SeedClientsOptions,
): MadeClient | undefined {
  const { members, insecure } = parseMetadata(said, policies.schemas())
  policies.assertInsecureAllowed(insecure)
  const client = row === undefined ? blank(wanted.key) : toStored(row)
  const before = row === undefined ? {} : toMetadata(client, row.secrets.length > 0)
  removeMembers(client, nullMembers(said))
  applyMetadata(client, members)
  policies.assertSecretUsed(members.client_secret, client)
  const keeps = row?.secrets.some((one) => isUsable(one, client.tokenEndpointAuthMethod)) ?? false
  const secret = secrets.toStore(client, members.client_secret, hash)
  const hasSecret = secret !== undefined || keeps
  const changes = changesBetween(before, toMetadata(client, hasSecret))
  if (row !== undefined && hash === undefined && Object.keys(changes).length === 0) return undefined
  return { isNew: row === undefined, client, hasSecret, secret, changes }
}

/** What is stored, and seldom meant. */
function tellOf(
  { wanted, members }: Change<ClientSetRow>,
  { isNew, client, hasSecret }: MadeClient,
  policies: ClientPolicies,
  log: FastifyBaseLogger,
): void {
  policies.warnOf(wanted.key, parseMetadata(members, policies.schemas()))
  if (isNew && !hasSecret && !client.tokenEndpointAuthMethod)
    log.warn({ client: wanted.key }, 'SEED_FILE: the client has no secret yet')
}

function blank(clientId: string): StoredClient {
  return { clientId, redirectUris: [], scope: [], metadata: {} }
}

/** A copy, to be changed. */
function toStored({ secrets: _secrets, createdAt: _createdAt, ...row }: ClientSetRow): StoredClient {
  return structuredClone(row)
}

async function store(
  query: Query,
  note: Note,
  made: readonly MadeClient[],
  overlap: number,
): Promise<readonly string[]> {
  const rows = (isNew: boolean) => made.filter((one) => one.isNew === isNew).map(({ client }) => client)
  const [added, changed] = [rows(true), rows(false)]
  if (added.length > 0) await query(statements.insert, [JSON.stringify(added)])
  if (changed.length > 0) await query(statements.update, [JSON.stringify(changed)])
  const ids = added.map(({ clientId }) => clientId)
  if (ids.length > 0) await claimAmongScopes(query, ids)
  await storeSecrets(query, made, overlap)
  for (const one of made) for (const event of eventsOf(one, overlap)) note(event)
  return made.map(({ client }) => client.clientId)
}

async function storeSecrets(query: Query, made: readonly MadeClient[], overlap: number): Promise<void> {
  const kept = made.filter(({ isNew }) => !isNew).map(({ client }) => client.clientId)
  if (kept.length > 0) await query(statements.removeUnfitSecrets, [kept, SEALED_METHOD])
  const secrets = made.flatMap(({ client, secret }) =>
    secret === undefined ? [] : { id: randomUUID(), client: client.clientId, ...secret },
  )
  if (secrets.length === 0) return
  const changed = secrets.map(({ client }) => client)
  if (overlap > 0) await query(statements.outlastSecrets, [changed, overlap])
  else await query(statements.removeSecrets, [changed])
  await query(statements.insertSecrets, [JSON.stringify(secrets)])
}

function eventsOf(made: MadeClient, overlap: number): NewEvent[] {
  const { isNew, secret, changes } = made
  const client = made.client.clientId
  if (isNew) return [{ type: 'client.registered', client, details: { changes } }]
  const events: NewEvent[] = []
  if (Object.keys(changes).length > 0) events.push({ type: 'client.changed', client, details: { changes } })
  if (secret !== undefined) events.push({ type: 'client.secret_rotated', client, details: { overlap } })
  return events
}
