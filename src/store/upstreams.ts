/** Upstreams: so few that all are read at once. */
import { Upstream } from '../entities/upstream.ts'
import { insertGiven, updateGiven } from './given-rows.ts'
import { statement } from './statement.ts'

export type UpstreamRow = Pick<Upstream, keyof typeof TYPES>

const TYPES = {
  id: 'text',
  kind: 'text',
  issuer: 'text',
  clientId: 'text',
  clientSecret: 'text',
  authorizationEndpoint: 'text',
  tokenEndpoint: 'text',
  userinfoEndpoint: 'text',
  tokenEndpointAuthMethod: 'text',
  subjectClaim: 'text',
  teamId: 'text',
  keyId: 'text',
  name: 'text',
  scope: 'text[]',
  domains: 'text[]',
  trustEmail: 'boolean',
  signUp: 'boolean',
  signOut: 'boolean',
  button: 'boolean',
  claims: 'jsonb',
} as const
const COLUMNS = Object.keys(TYPES) as (keyof typeof TYPES)[]

export const statements = {
  /** Behind the id $1, at most $2. */
  page: statement<UpstreamRow>('upstreams-page', (table) => {
    const upstream = table(Upstream)
    const id = upstream.column('id')
    return `select ${upstream.columns(...COLUMNS)} from ${upstream.name} where ${id} > $1 order by ${id} limit $2`
  }),
  find: statement<UpstreamRow>('upstream-find', (table) => {
    const upstream = table(Upstream)
    return `select ${upstream.columns(...COLUMNS)} from ${upstream.name} where ${upstream.column('id')} = $1`
  }),
  /** Those of $1, for a change; each process in the same order. */
  lock: statement<UpstreamRow>('upstreams-lock', (table) => {
    const upstream = table(Upstream)
    const id = upstream.column('id')
    return `select ${upstream.columns(...COLUMNS)} from ${upstream.name} where ${id} = any($1) order by ${id} for update`
  }),
  present: statement<{ key: string }>('upstreams-present', (table) => {
    const upstream = table(Upstream)
    return `select ${upstream.column('id')} as "key" from ${upstream.name} where ${upstream.column('id')} = any($1)`
  }),
  insert: statement('upstreams-insert', (table) => insertGiven(table(Upstream), TYPES)),
  update: statement('upstreams-update', (table) => updateGiven(table(Upstream), TYPES, ['id'])),
  /** The secret sealed anew ($3), where it is still what was read ($2). */
  reseal: statement('upstream-reseal', (table) => {
    const upstream = table(Upstream)
    const secret = upstream.column('clientSecret')
    return `update ${upstream.name} set ${secret} = $3 where ${upstream.column('id')} = $1 and ${secret} = $2`
  }),
  delete: statement<{ deleted: true }>('upstream-delete', (table) => {
    const upstream = table(Upstream)
    return `delete from ${upstream.name} where ${upstream.column('id')} = $1 returning true as "deleted"`
  }),
}
