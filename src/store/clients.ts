/** Clients, scopes and resources as the hot path reads them: one statement each, on a cache miss only. */
import { Client, ClientSecret } from '../entities/client.ts'
import { Resource, Scope } from '../entities/resource.ts'
import { beginsWith, type FoundRow } from './begins-with.ts'
import type { Database } from './database.ts'
import { type ResourceSetRow, selectResources } from './record-sets.ts'
import { shown, statement, type TableOf } from './statement.ts'

export type ClientRow = Pick<
  Client,
  | 'clientId'
  | 'clientName'
  | 'redirectUris'
  | 'responseTypes'
  | 'grantTypes'
  | 'tokenEndpointAuthMethod'
  | 'scope'
  | 'metadata'
  | 'createdAt'
  | 'registrar'
  | 'revision'
> & {
  /** `expiresAt` in milliseconds since the epoch. */
  secrets: { id: string; hash: string; sealed: string | null; expiresAt: number | null }[]
  /** Entries of `scope` that are registered clients: rights to introspect. */
  scopeClients: string[]
}

/** As lists show it: of its secrets, whether there is one. */
export type ListedRow = Pick<Client, (typeof LISTED)[number]> & { hasSecret: boolean }

const LISTED = [
  'clientId', 'clientName', 'redirectUris', 'responseTypes', 'grantTypes', 'tokenEndpointAuthMethod', 'scope', 'metadata',
] as const // prettier-ignore

/** One secret at most is looked at: for `exists`, PostgreSQL may read all of them. */
function listed(table: TableOf): string {
  const [client, secret] = [table(Client), table(ClientSecret)]
  return `select ${client.columns(...LISTED)},
    coalesce((select true from ${secret.name} s where s.${secret.column('client')} = c.${client.column('clientId')} limit 1), false) as "hasSecret"
    from ${client.name} c`
}

/** What of a client decides whether it may be vouched for at other servers, as it is stored. */
export interface ExchangingRow {
  readonly clientId: string
  readonly rules: unknown
  readonly subjectType: string | null
}

export const statements = {
  client: statement<ClientRow>('client-find', (table) => {
    const client = table(Client)
    const secret = table(ClientSecret)
    const expiresAt = `(extract(epoch from s.${secret.column('expiresAt')}) * 1000)::float8`
    return `select ${client.columns(
      'clientId',
      'clientName',
      'redirectUris',
      'responseTypes',
      'grantTypes',
      'tokenEndpointAuthMethod',
      'scope',
      'metadata',
      'createdAt',
      'registrar',
      'revision',
    )},
      coalesce((select json_agg(json_build_object('id', s.${secret.column('id')}, 'hash', s.${secret.column('hash')},
          'sealed', s.${secret.column('sealed')}, 'expiresAt', ${expiresAt}) order by s.${secret.column('createdAt')} desc)
        from ${secret.name} s where s.${secret.column('client')} = $1), '[]') as "secrets",
      array(select o.${client.column('clientId')} from ${client.name} o
        where o.${client.column('clientId')} = any(c.${client.column('scope')})) as "scopeClients"
      from ${client.name} c where ${client.column('clientId')} = $1`
  }),
  /** How many have registered themselves by the door $1; no more than $2 are counted. */
  registeredBy: statement<{ count: number }>('clients-registered-by', (table) => {
    const client = table(Client)
    const some = `select from ${client.name} where ${client.column('registrar')} = $1 limit $2`
    return `select count(*)::int as "count" from (${some}) registered`
  }),
  /** Those that have rules of `token_exchange`, behind the id $1, at most $2. */
  exchanging: statement<ExchangingRow>('clients-exchanging', (table) => {
    const client = table(Client)
    const [id, metadata] = [client.column('clientId'), client.column('metadata')]
    return `select ${client.columns('clientId')}, ${metadata} -> 'token_exchange' as "rules", ${metadata} ->> 'subject_type' as "subjectType"
      from ${client.name} where (${metadata} -> 'token_exchange') is not null and ${id} > $1 order by ${id} limit $2`
  }),
  /** One, where some client may be vouched for at other servers (`audiences` of a rule of its `token_exchange`). */
  vouchedFor: statement<{ vouches: true }>('clients-vouched-for', (table) => {
    const client = table(Client)
    const [id, metadata] = [client.column('clientId'), client.column('metadata')]
    // By the index of those who exchange at all: they are few, which the planner does not know of one alone.
    const some = `select ${id} from ${client.name} where (${metadata} -> 'token_exchange') is not null order by ${id} limit 1000`
    return `select true as "vouches" from ${client.name} where ${id} = any(array(${some}))
      and jsonb_path_exists(${metadata}, '$.token_exchange[*].audiences') limit 1`
  }),
  /** In the order of ids, behind $1, at most $2. */
  list: shown(
    statement<ListedRow>('clients-list', (table) => {
      const id = table(Client).column('clientId')
      return `${listed(table)} where c.${id} > $1 order by c.${id} limit $2`
    }),
  ),
  /** Those of the ids $1. */
  listed: shown(
    statement<ListedRow>(
      'clients-listed',
      (table) => `${listed(table)} where c.${table(Client).column('clientId')} = any($1)`,
    ),
  ),
  /** At most $2 clients whose id, or name in any case, begins with $1, behind the place ($3, $4). */
  search: shown(
    statement<FoundRow>('clients-search', (table) => {
      const client = table(Client)
      const [id, name] = [client.column('clientId'), client.column('clientName')]
      const ways = [
        { value: id, text: '$1::text', unique: true },
        { value: `lower(${name})`, text: 'lower($1::text)' },
      ]
      const place = { at: '$3::text', behind: '$4::text', least: `''` }
      return beginsWith({ table: client.name, columns: `${id} as "id"`, id, ways, ...place, limit: '$2' })
    }),
  ),
  scopes: statement<Pick<Scope, 'name' | 'description'> & { resource: string | null }>(
    'scopes-find',
    (table) => {
      const scope = table(Scope)
      return `select ${scope.columns('name', 'description', 'resource')} from ${scope.name} where ${scope.column('name')} = any($1)`
    },
  ),
  /** Which of the names $1 are those of a scope, or of a client. */
  registeredNames: statement<{ name: string }>('names-registered', (table) => {
    const [scope, client] = [table(Scope), table(Client)]
    return `select ${scope.column('name')} as "name" from ${scope.name} where ${scope.column('name')} = any($1)
      union select ${client.column('clientId')} from ${client.name} where ${client.column('clientId')} = any($1)`
  }),
  resources: statement<ResourceSetRow>(
    'resources-find',
    (table) => `${selectResources(table)} where ${table(Resource).column('resource')} = any($1)`,
  ),
  longestLifetime: statement<{ seconds: number }>('resources-longest-lifetime', (table) => {
    const resource = table(Resource)
    return `select coalesce(max(${resource.column('accessTokenLifetime')}), 0) as "seconds" from ${resource.name}`
  }),
  /** Seals a secret anew, and hashes it under the same key, where it is still what it was. */
  resealSecret: statement('client-secret-reseal', (table) => {
    const secret = table(ClientSecret)
    const [id, hash, sealed] = [secret.column('id'), secret.column('hash'), secret.column('sealed')]
    return `update ${secret.name} set ${sealed} = $3, ${hash} = $4 where ${id} = $1 and ${sealed} = $2`
  }),
  rehashSecret: statement('client-secret-rehash', (table) => {
    const secret = table(ClientSecret)
    return `update ${secret.name} set ${secret.column('hash')} = $3 where ${secret.column('id')} = $1 and ${secret.column('hash')} = $2`
  }),
}

/** Throws on an empty id, which would otherwise be a lookup of nothing in particular. */
export async function findClientRow(database: Database, clientId: string): Promise<ClientRow | null> {
  if (clientId === '') throw new Error('a client lookup needs an id')
  const rows = await database.query(statements.client, [clientId])
  return rows[0] ?? null
}
