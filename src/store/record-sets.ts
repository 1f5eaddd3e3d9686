/** Resources and scopes many at a time, for SEED_FILE: one statement whatever their number. */
import { Resource, ResourceAlias, Scope } from '../entities/resource.ts'
import { insertGiven, updateGiven } from './given-rows.ts'
import { statement, type TableOf } from './statement.ts'

export type ResourceSetRow = Pick<
  Resource,
  | 'resource'
  | 'name'
  | 'accessTokenFormat'
  | 'accessTokenLifetime'
  | 'dpopBoundAccessTokens'
  | 'tlsClientCertificateBoundAccessTokens'
> & { aliases: string[] }
export type ScopeSetRow = Pick<Scope, 'name' | 'description'> & { resource: string | null }

const RESOURCE = {
  resource: 'text',
  name: 'text',
  accessTokenFormat: 'text',
  accessTokenLifetime: 'int',
  dpopBoundAccessTokens: 'boolean',
  tlsClientCertificateBoundAccessTokens: 'boolean',
} as const
const SCOPE = { name: 'text', description: 'text', resource: 'text' } as const

/** `select` of all that is registered of resources. */
export function selectResources(table: TableOf): string {
  const [resource, alias] = [table(Resource), table(ResourceAlias)]
  const own = resource.columns(...(Object.keys(RESOURCE) as (keyof typeof RESOURCE)[]))
  const name = alias.column('alias')
  return `select ${own}, array(select ${name} from ${alias.name} a
      where a.${alias.column('resource')} = r.${resource.column('resource')} order by ${name} collate "C") as "aliases"
    from ${resource.name} r`
}

export const statements = {
  /** Those of $1, for a change; each process in the same order. */
  lockResources: statement<ResourceSetRow>('resources-lock', (table) => {
    const id = table(Resource).column('resource')
    return `${selectResources(table)} where ${id} = any($1) order by ${id} for update`
  }),
  /** At most $2, behind the one $1. */
  listResources: statement<ResourceSetRow>('resources-list', (table) => {
    const id = table(Resource).column('resource')
    return `${selectResources(table)} where ${id} > $1 order by ${id} limit $2`
  }),
  deleteResource: statement<{ key: string }>('resource-delete', (table) => {
    const resource = table(Resource)
    const id = resource.column('resource')
    return `delete from ${resource.name} where ${id} = $1 returning ${id} as "key"`
  }),
  lockScopes: statement<ScopeSetRow>('scopes-lock', (table) => {
    const scope = table(Scope)
    const name = scope.column('name')
    return `select ${scope.columns('name', 'description', 'resource')} from ${scope.name}
      where ${name} = any($1) order by ${name} for update`
  }),
  /** Which of $1 are there, and stay there until the end of the transaction. */
  keepResources: statement<{ key: string }>('resources-keep', (table) => {
    const resource = table(Resource)
    const id = resource.column('resource')
    return `select ${id} as "key" from ${resource.name} where ${id} = any($1) order by ${id} for share`
  }),
  presentResources: statement<{ key: string }>('resources-present', (table) => {
    const resource = table(Resource)
    const id = resource.column('resource')
    return `select ${id} as "key" from ${resource.name} where ${id} = any($1)`
  }),
  presentScopes: statement<{ key: string }>('scopes-present', (table) => {
    const scope = table(Scope)
    const name = scope.column('name')
    return `select ${name} as "key" from ${scope.name} where ${name} = any($1)`
  }),
  insertResources: statement('resources-insert', (table) => insertGiven(table(Resource), RESOURCE)),
  updateResources: statement('resources-update', (table) =>
    updateGiven(table(Resource), RESOURCE, ['resource']),
  ),
  insertScopes: statement('scopes-insert', (table) => insertGiven(table(Scope), SCOPE)),
  updateScopes: statement('scopes-update', (table) => updateGiven(table(Scope), SCOPE, ['name'])),
}
