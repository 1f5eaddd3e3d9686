/** Resources and scopes many at a time, for SEED_FILE: one statement whatever their number. */
import { Resource, Scope } from '../entities/resource.ts'
import { insertGiven, updateGiven } from './given-rows.ts'
import { statement } from './statement.ts'

export type ResourceSetRow = Pick<
  Resource,
  | 'resource'
  | 'name'
  | 'accessTokenFormat'
  | 'accessTokenLifetime'
  | 'dpopBoundAccessTokens'
  | 'tlsClientCertificateBoundAccessTokens'
>
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

export const statements = {
  /** Those of $1, for a change; each process in the same order. */
  lockResources: statement<ResourceSetRow>('resources-lock', (table) => {
    const resource = table(Resource)
    const id = resource.column('resource')
    return `select ${resource.columns('resource', 'name', 'accessTokenFormat', 'accessTokenLifetime', 'dpopBoundAccessTokens', 'tlsClientCertificateBoundAccessTokens')}
      from ${resource.name} where ${id} = any($1) order by ${id} for update`
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
