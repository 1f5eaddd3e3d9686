/**
 * The names by which requests speak of resources: identifiers and aliases, a slash at the end or not. No alias is the name of another
 * resource, also where both are registered at once: who registers either claims its names among the others' (docs/adr/0037).
 * Identifiers first, then aliases.
 */
import { Resource, ResourceAlias } from '../entities/resource.ts'
import { formsOf, slashless } from '../protocol/resource-identifier.ts'
import { type Query, statement } from './statement.ts'

/** A name that is taken, and by which resource. */
export interface NamedRow {
  readonly resource: string
  /** The alias, without a slash at its end; null where `resource` itself is the name. */
  readonly alias: string | null
}

export const statements = {
  /** Whose the names are: aliases by $1, without their slash, and identifiers by $2, in both forms. */
  named: statement<NamedRow>('resource-names-find', (table) => {
    const [resource, alias] = [table(Resource), table(ResourceAlias)]
    const [id, name] = [resource.column('resource'), alias.column('name')]
    return `select ${id} as "resource", null as "alias" from ${resource.name} where ${id} = any($2)
      union all select ${alias.column('resource')}, ${name} from ${alias.name} where ${name} = any($1)`
  }),
  insert: statement('resource-aliases-insert', (table) => {
    const alias = table(ResourceAlias)
    const columns = (['name', 'alias', 'resource'] as const).map(alias.column).join(', ')
    return `insert into ${alias.name} (${columns}) select * from unnest($1::text[], $2::text[], $3::text[])`
  }),
  /** Of the resources $1. */
  deleteOf: statement('resource-aliases-delete', (table) => {
    const alias = table(ResourceAlias)
    return `delete from ${alias.name} where ${alias.column('resource')} = any($1)`
  }),
  /** The names $1, for as long as the transaction lasts. */
  claim: statement('resources-claim', (table) => {
    const resource = table(Resource)
    return `insert into ${resource.name} (${resource.column('resource')}) select unnest($1::text[])`
  }),
  release: statement('resources-release', (table) => {
    const resource = table(Resource)
    return `delete from ${resource.name} where ${resource.column('resource')} = any($1)`
  }),
}

/** Whose the names are. */
export async function namedIn(query: Query, names: readonly string[]): Promise<NamedRow[]> {
  if (names.length === 0) return []
  return query(statements.named, [names.map(slashless), names.flatMap(formsOf)])
}

/** For resources that the transaction has inserted. Throws a duplicate where a name is another's alias. */
export async function claimAmongAliases(query: Query, resources: readonly string[]): Promise<void> {
  const byName = new Map(resources.map((resource) => [slashless(resource), resource]))
  await query(statements.insert, [[...byName.keys()], [...byName.values()], [...byName.values()]])
  await query(statements.deleteOf, [resources])
}

/** For resources that are there, of all aliases that they shall have. Throws a duplicate where one is another's name. */
export async function replaceAliases(
  query: Query,
  rows: readonly { readonly resource: string; readonly aliases: readonly string[] }[],
): Promise<void> {
  await query(statements.deleteOf, [rows.map(({ resource }) => resource)])
  const aliases = rows.flatMap(({ resource, aliases: names }) => names.map((alias) => ({ alias, resource })))
  if (aliases.length === 0) return
  const claimed = aliases.flatMap(({ alias }) => formsOf(alias)).toSorted()
  await query(statements.claim, [claimed])
  await query(statements.release, [claimed])
  await query(statements.insert, [
    aliases.map(({ alias }) => slashless(alias)),
    aliases.map(({ alias }) => alias),
    aliases.map(({ resource }) => resource),
  ])
}
