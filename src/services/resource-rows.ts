/** What becomes of resources that are registered or changed, by whichever way: their rows, their names, and what the audit log says. */
import { changesBetween, type Changes } from '../protocol/changes.ts'
import { metadataError } from '../protocol/errors.ts'
import { reason } from '../protocol/message.ts'
import { slashless } from '../protocol/resource-identifier.ts'
import type { Laid, ResourceInformation } from '../protocol/resource-information.ts'
import { statements, type ResourceSetRow } from '../store/record-sets.ts'
import { claimAmongAliases, type NamedRow, replaceAliases } from '../store/resource-names.ts'
import type { Query } from '../store/statement.ts'
import type { Note } from './audit/audit.ts'

/** A row to be stored, and how it differs from what is there. */
export interface Made<Row> {
  readonly isNew: boolean
  readonly row: Row
  readonly changes: Changes
}

/** With `given` laid over what is there: null takes a member away, and undefined leaves it. */
export function layResource(
  had: ResourceSetRow | undefined,
  given: Laid<ResourceInformation> & { resource: string },
): ResourceSetRow {
  const laid = <T>(value: T | null | undefined, before: T | null | undefined): T | null =>
    value === undefined ? (before ?? null) : value
  return {
    resource: given.resource,
    aliases: laid(given.aliases, had?.aliases)?.toSorted() ?? [],
    name: laid(given.name, had?.name),
    accessTokenFormat: laid(given.access_token_format, had?.accessTokenFormat),
    accessTokenLifetime: laid(given.access_token_lifetime, had?.accessTokenLifetime),
    dpopBoundAccessTokens: laid(given.dpop_bound_access_tokens, had?.dpopBoundAccessTokens),
    tlsClientCertificateBoundAccessTokens: laid(
      given.tls_client_certificate_bound_access_tokens,
      had?.tlsClientCertificateBoundAccessTokens,
    ),
  }
}

/**
 * Throws `invalid_client_metadata` where a name of it is another's: `named` says whose the names are, `issuer` is the identifier of the
 * default resource.
 */
export function assertOwnNames(
  { isNew, row: { resource, aliases } }: Made<ResourceSetRow>,
  named: readonly NamedRow[],
  issuer: string,
): void {
  const isAlias = ({ alias }: NamedRow): boolean => alias === slashless(resource)
  const owner = isNew ? named.find(isAlias)?.resource : undefined
  if (owner !== undefined)
    throw metadataError('resource', reason('is an alias of {owner}: take it away there first', { owner }))
  for (const alias of aliases) {
    const name = slashless(alias)
    if (name === slashless(resource))
      throw metadataError(
        'aliases',
        reason('must not hold its identifier, with or without a slash at the end'),
      )
    if (name === slashless(issuer))
      throw metadataError(
        'aliases',
        reason('must not hold {alias}, which is the default resource', { alias }),
      )
    const other = named.find(
      (one) => one.resource !== resource && (one.alias ?? slashless(one.resource)) === name,
    )
    if (other !== undefined)
      throw metadataError(
        'aliases',
        other.alias === null
          ? `hold ${alias}, which is a resource of its own`
          : `hold ${alias}, which is an alias of ${other.resource}`,
      )
  }
}

/** Undefined where it is what is there. */
export function madeOf<Row>(
  before: Row | undefined,
  members: (row: Row) => object,
  row: Row,
): Made<Row> | undefined {
  const was = before === undefined ? {} : members(before)
  const changes = changesBetween({ ...was }, { ...members(row) })
  const isNew = before === undefined
  return isNew || Object.keys(changes).length > 0 ? { isNew, row, changes } : undefined
}

/** Throws a duplicate where somebody registers one of their names meanwhile. */
export async function storeResources(
  query: Query,
  note: Note,
  made: readonly Made<ResourceSetRow>[],
): Promise<void> {
  const rowsOf = (some: readonly Made<ResourceSetRow>[]) => some.map(({ row }) => row)
  const [added, changed] = [made.filter(({ isNew }) => isNew), made.filter(({ isNew }) => !isNew)]
  if (added.length > 0) await query(statements.insertResources, [JSON.stringify(rowsOf(added))])
  if (changed.length > 0) await query(statements.updateResources, [JSON.stringify(rowsOf(changed))])
  if (added.length > 0)
    await claimAmongAliases(
      query,
      rowsOf(added).map(({ resource }) => resource),
    )
  const renamed = made.filter(({ changes }) => 'aliases' in changes)
  if (renamed.length > 0) await replaceAliases(query, rowsOf(renamed))
  for (const { isNew, row, changes } of made) {
    const details = { resource: row.resource, changes }
    note({ type: isNew ? 'resource.registered' : 'resource.changed', details })
  }
}
