/** Trusted issuers: so few that all are read at once. */
import { TrustedIssuer } from '../entities/trusted-issuer.ts'
import { insertGiven, updateGiven } from './given-rows.ts'
import { statement } from './statement.ts'

export type TrustedIssuerRow = Pick<TrustedIssuer, keyof typeof TYPES>

const TYPES = {
  issuer: 'text',
  generation: 'uuid',
  jwksUri: 'text',
  jwks: 'jsonb',
  algorithms: 'text[]',
  audiences: 'text[]',
  subject: 'text',
  subjectClaim: 'text',
  scopes: 'text[]',
  resources: 'text[]',
  clients: 'text[]',
  claims: 'jsonb',
  maxAge: 'int',
  reusable: 'boolean',
  disabled: 'boolean',
} as const
const COLUMNS = Object.keys(TYPES) as (keyof typeof TYPES)[]

export const statements = {
  /** Behind the issuer $1, at most $2. */
  page: statement<TrustedIssuerRow>('trusted-issuers-page', (table) => {
    const one = table(TrustedIssuer)
    const issuer = one.column('issuer')
    return `select ${one.columns(...COLUMNS)} from ${one.name} where ${issuer} > $1 order by ${issuer} limit $2`
  }),
  find: statement<TrustedIssuerRow>('trusted-issuer-find', (table) => {
    const one = table(TrustedIssuer)
    return `select ${one.columns(...COLUMNS)} from ${one.name} where ${one.column('issuer')} = $1`
  }),
  /** Those of $1, for a change; each process in the same order. */
  lock: statement<TrustedIssuerRow>('trusted-issuers-lock', (table) => {
    const one = table(TrustedIssuer)
    const issuer = one.column('issuer')
    return `select ${one.columns(...COLUMNS)} from ${one.name} where ${issuer} = any($1) order by ${issuer} for update`
  }),
  present: statement<{ key: string }>('trusted-issuers-present', (table) => {
    const one = table(TrustedIssuer)
    return `select ${one.column('issuer')} as "key" from ${one.name} where ${one.column('issuer')} = any($1)`
  }),
  insert: statement('trusted-issuers-insert', (table) => insertGiven(table(TrustedIssuer), TYPES)),
  update: statement('trusted-issuers-update', (table) =>
    updateGiven(table(TrustedIssuer), TYPES, ['issuer']),
  ),
  /** When a JWT of each of $1 was last found good, of those of which one was. */
  uses: statement<{ issuer: string; usedAt: Date }>('trusted-issuers-uses', (table) => {
    const one = table(TrustedIssuer)
    const [issuer, usedAt] = [one.column('issuer'), one.column('usedAt')]
    return `select ${one.columns('issuer', 'usedAt')} from ${one.name} where ${issuer} = any($1) and ${usedAt} is not null`
  }),
  /** Notes of each generation of $1 that it was used at the time of $2, unless somebody noted a later one. */
  note: statement('trusted-issuers-note', (table) => {
    const one = table(TrustedIssuer)
    const [generation, usedAt] = [one.column('generation'), one.column('usedAt')]
    return `update ${one.name} had set ${usedAt} = noted.at
      from unnest($1::uuid[], $2::timestamptz[]) as noted (generation, at)
      where had.${generation} = noted.generation and (had.${usedAt} is null or had.${usedAt} < noted.at)`
  }),
  delete: statement<{ deleted: true }>('trusted-issuer-delete', (table) => {
    const one = table(TrustedIssuer)
    return `delete from ${one.name} where ${one.column('issuer')} = $1 returning true as "deleted"`
  }),
}
