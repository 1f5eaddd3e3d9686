/** Resources and scopes of SEED_FILE, by the rules of their registry, many at a time. */
import type { FastifyBaseLogger } from 'fastify'
import { changesBetween, type Changes } from '../../protocol/changes.ts'
import { metadataError } from '../../protocol/client-metadata.ts'
import {
  assertResource,
  assertScope,
  type Laid,
  type ResourceInformation,
  type ScopeInformation,
} from '../../protocol/resource-information.ts'
import type { Database } from '../../store/database.ts'
import { claimAmongClients } from '../../store/name-claims.ts'
import { statements, type ResourceSetRow, type ScopeSetRow } from '../../store/record-sets.ts'
import { resourceMembers } from '../resource-members.ts'
import { at, warnUnknown, type Placed } from './seed-file.ts'
import type { SeededKind, Wanted } from './seeded-kind.ts'

interface Made<Row> {
  readonly isNew: boolean
  readonly row: Row
  readonly changes: Changes
}

const RESOURCE_MEMBERS = [
  'resource',
  'name',
  'access_token_format',
  'access_token_lifetime',
  'dpop_bound_access_tokens',
  'tls_client_certificate_bound_access_tokens',
]
const SCOPE_MEMBERS = ['name', 'description', 'resource']

/** What the entries say. Throws `ConfigError`. */
export function wantedResources(entries: readonly Placed[], log: FastifyBaseLogger): Wanted[] {
  return entries.map(({ place, entry: { scopes: _scopes, ...entry } }) =>
    at(place, () => {
      assertResource(entry as unknown as Laid<ResourceInformation>)
      const { resource, ...members } = pick(entry, RESOURCE_MEMBERS, 'resources', log)
      return { key: resource as string, place, members }
    }),
  )
}

/** Those that a resource lists, and then those of the section of their own. */
export function wantedScopes(
  resources: readonly Placed[],
  entries: readonly Placed[],
  log: FastifyBaseLogger,
): Wanted[] {
  const listed = resources.flatMap(({ place, entry: { resource, scopes = [] } }) =>
    at(place, () => {
      if (!Array.isArray(scopes)) throw metadataError('scopes', 'must be a list of scope names')
      return scopes.map((name: unknown) => ({ place, entry: { name, resource } }))
    }),
  )
  return [...listed, ...entries].map(({ place, entry }) =>
    at(place, () => {
      assertScope(entry as unknown as Laid<ScopeInformation>)
      const { name, ...members } = pick(entry, SCOPE_MEMBERS, 'scopes', log)
      return { key: name as string, place, members }
    }),
  )
}

function pick(
  entry: Readonly<Record<string, unknown>>,
  known: readonly string[],
  section: string,
  log: FastifyBaseLogger,
): Record<string, unknown> {
  const isKnown = (member: string) => known.includes(member)
  const unknown = Object.keys(entry).filter((member) => !isKnown(member))
  warnUnknown(unknown, section, log)
  return Object.fromEntries(Object.entries(entry).filter(([member]) => isKnown(member)))
}

export function seededResources(database: Database): SeededKind<ResourceSetRow, Made<ResourceSetRow>> {
  return {
    kind: 'resource',
    section: 'resources',
    present: async (keys) => database.query(statements.presentResources, [keys]),
    async lock(query, wanted) {
      const rows = await query(statements.lockResources, [wanted.map(({ key }) => key)])
      return new Map(rows.map((row) => [row.resource, row]))
    },
    make({ wanted, row, members }) {
      const had = row ?? {
        resource: wanted.key,
        name: null,
        accessTokenFormat: null,
        accessTokenLifetime: null,
        dpopBoundAccessTokens: null,
        tlsClientCertificateBoundAccessTokens: null,
      }
      const {
        name,
        access_token_format,
        access_token_lifetime,
        dpop_bound_access_tokens,
        tls_client_certificate_bound_access_tokens,
      } = members as Laid<ResourceInformation>
      return madeOf(row, resourceMembers, {
        resource: wanted.key,
        name: name === undefined ? had.name : name,
        accessTokenFormat: access_token_format === undefined ? had.accessTokenFormat : access_token_format,
        accessTokenLifetime:
          access_token_lifetime === undefined ? had.accessTokenLifetime : access_token_lifetime,
        dpopBoundAccessTokens:
          dpop_bound_access_tokens === undefined ? had.dpopBoundAccessTokens : dpop_bound_access_tokens,
        tlsClientCertificateBoundAccessTokens:
          tls_client_certificate_bound_access_tokens === undefined
            ? had.tlsClientCertificateBoundAccessTokens
            : tls_client_certificate_bound_access_tokens,
      })
    },
    async store(query, note, made) {
      await eachKind(made, async (isNew, rows) =>
        query(isNew ? statements.insertResources : statements.updateResources, [JSON.stringify(rows)]),
      )
      for (const { isNew, row, changes } of made) {
        const details = { resource: row.resource, changes }
        note({ type: isNew ? 'resource.registered' : 'resource.changed', details })
      }
      return made.map(({ row }) => row.resource)
    },
  }
}

export function seededScopes(database: Database): SeededKind<ScopeSetRow, Made<ScopeSetRow>> {
  /** Of the batch: the resources that are there, and stay. */
  let owners: ReadonlySet<string> = new Set()
  return {
    kind: 'scope',
    section: 'scopes',
    present: async (keys) => database.query(statements.presentScopes, [keys]),
    async lock(query, wanted) {
      const named = wanted.flatMap(({ members: { resource } }) =>
        typeof resource === 'string' ? resource : [],
      )
      owners = new Set((await query(statements.keepResources, [[...new Set(named)]])).map(({ key }) => key))
      const rows = await query(statements.lockScopes, [wanted.map(({ key }) => key)])
      return new Map(rows.map((row) => [row.name, row]))
    },
    make({ wanted, row, members }) {
      const { description, resource } = members as Laid<ScopeInformation>
      if (typeof resource === 'string' && !owners.has(resource))
        throw metadataError('resource', 'is not registered')
      return madeOf(row, membersOfScope, {
        name: wanted.key,
        description: description === undefined ? (row?.description ?? null) : description,
        resource: resource === undefined ? (row?.resource ?? null) : resource,
      })
    },
    async store(query, note, made) {
      const names = made.flatMap(({ isNew, row }) => (isNew ? row.name : []))
      if (names.length > 0) await claimAmongClients(query, names)
      await eachKind(made, async (isNew, rows) =>
        query(isNew ? statements.insertScopes : statements.updateScopes, [JSON.stringify(rows)]),
      )
      for (const { isNew, row, changes } of made) {
        const details = { scope: row.name, changes }
        note({ type: isNew ? 'scope.registered' : 'scope.changed', details })
      }
      return made.map(({ row }) => row.name)
    },
  }
}

const membersOfScope = ({ name, description, resource }: ScopeSetRow) => ({ name, description, resource })

/** Undefined where it is what is there. */
function madeOf<Row>(
  before: Row | undefined,
  members: (row: Row) => object,
  row: Row,
): Made<Row> | undefined {
  const was = before === undefined ? {} : members(before)
  const changes = changesBetween({ ...was }, { ...members(row) })
  const isNew = before === undefined
  return isNew || Object.keys(changes).length > 0 ? { isNew, row, changes } : undefined
}

async function eachKind<Row>(
  made: readonly Made<Row>[],
  write: (isNew: boolean, rows: Row[]) => Promise<unknown>,
): Promise<void> {
  for (const isNew of [true, false]) {
    const rows = made.filter((one) => one.isNew === isNew).map(({ row }) => row)
    if (rows.length > 0) await write(isNew, rows)
  }
}
