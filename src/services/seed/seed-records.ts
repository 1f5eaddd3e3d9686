/** Resources and scopes of SEED_FILE, by the rules of their registry, many at a time. */
import type { FastifyBaseLogger } from 'fastify'
import { metadataError } from '../../protocol/errors.ts'
import {
  assertResource,
  assertScope,
  type Laid,
  type ResourceInformation,
  type ScopeInformation,
} from '../../protocol/resource-information.ts'
import { slashless } from '../../protocol/resource-identifier.ts'
import type { Database } from '../../store/database.ts'
import { claimAmongClients } from '../../store/name-claims.ts'
import { statements, type ResourceSetRow, type ScopeSetRow } from '../../store/record-sets.ts'
import { type NamedRow, namedIn } from '../../store/resource-names.ts'
import { resourceMembers } from '../resource-members.ts'
import { assertOwnNames, layResource, madeOf, storeResources, type Made } from '../resource-rows.ts'
import { at, warnUnknown, type Placed } from './seed-file.ts'
import type { SeededKind, Wanted } from './seeded-kind.ts'

const RESOURCE_MEMBERS = [
  'resource',
  'aliases',
  'name',
  'access_token_format',
  'access_token_lifetime',
  'dpop_bound_access_tokens',
  'tls_client_certificate_bound_access_tokens',
]
const SCOPE_MEMBERS = ['name', 'description', 'resource']

/** What the entries say. Throws `ConfigError`. */
export function wantedResources(entries: readonly Placed[], log: FastifyBaseLogger): Wanted[] {
  const owners = new Map<string, string>()
  return entries.map(({ place, entry: { scopes: _scopes, ...entry } }) =>
    at(place, () => {
      assertResource(entry as unknown as Laid<ResourceInformation>)
      assertUnshared(entry, owners)
      const { resource, ...members } = pick(entry, RESOURCE_MEMBERS, 'resources', log)
      return { key: resource as string, place, members }
    }),
  )
}

/** No name stands for two resources of the file. `owners` knows those above, by their names without a slash. */
function assertUnshared(entry: Placed['entry'], owners: Map<string, string>): void {
  const resource = entry['resource'] as string
  const assertFree = (member: string, name: string): void => {
    const owner = owners.get(name) ?? resource
    if (owner === resource) owners.set(name, resource)
    else throw metadataError(member, `names what is also a name of ${owner}`)
  }
  const aliases = (entry['aliases'] as readonly string[] | null | undefined) ?? []
  for (const alias of aliases) assertFree('aliases', slashless(alias))
  // Two that differ in a slash alone may be two.
  const owner = owners.get(slashless(resource))
  if (owner === undefined || slashless(owner) !== slashless(resource))
    assertFree('resource', slashless(resource))
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

/** `issuer` is the identifier of the default resource. */
export function seededResources(
  database: Database,
  issuer: string,
): SeededKind<ResourceSetRow, Made<ResourceSetRow>> {
  /** Of the batch: whose the names are, but for those that their owners give up in it. */
  let named: readonly NamedRow[] = []
  return {
    kind: 'resource',
    section: 'resources',
    unordered: ['aliases'],
    present: async (keys) => database.query(statements.presentResources, [keys]),
    async lock(query, wanted) {
      const names = wanted.flatMap(({ key, members }) => [key, ...aliasesIn(members)])
      const givenUp = ({ resource, alias }: NamedRow): boolean => {
        const owner = wanted.find(({ key }) => key === resource)
        const kept = owner === undefined ? undefined : owner.members['aliases']
        return (
          alias !== null && kept !== undefined && !aliasesIn(owner!.members).map(slashless).includes(alias)
        )
      }
      const rows = await query(statements.lockResources, [wanted.map(({ key }) => key)])
      named = (await namedIn(query, names)).filter((one) => !givenUp(one))
      return new Map(rows.map((row) => [row.resource, row]))
    },
    make({ wanted, row, members }) {
      const laid = layResource(row, { ...members, resource: wanted.key })
      const made = madeOf(row, resourceMembers, laid)
      if (made !== undefined) assertOwnNames(made, named, issuer)
      return made
    },
    async store(query, note, made) {
      await storeResources(query, note, made)
      return made.map(({ row }) => row.resource)
    },
  }
}

function aliasesIn({ aliases }: Wanted['members']): readonly string[] {
  return (aliases as readonly string[] | null | undefined) ?? []
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

async function eachKind<Row>(
  made: readonly Made<Row>[],
  write: (isNew: boolean, rows: Row[]) => Promise<unknown>,
): Promise<void> {
  for (const isNew of [true, false]) {
    const rows = made.filter((one) => one.isNew === isNew).map(({ row }) => row)
    if (rows.length > 0) await write(isNew, rows)
  }
}
