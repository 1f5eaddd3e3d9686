/** The row of an Authorization: what is written of a new one, and what is read. */
import { Authorization } from '../entities/authorization.ts'
import type { Places } from './parameters.ts'
import type { TableOf } from './statement.ts'

export type AuthorizationRow = Pick<Authorization, Stored | 'createdAt' | 'revokedAt'>

/** What is stored of a new one, and as what: a further column is a line here, beside its entity. */
export const AUTHORIZATION = {
  id: 'uuid',
  clientId: 'text',
  subject: 'text',
  scopes: 'text[]',
  resources: 'text[]',
  parameters: 'jsonb',
  authentication: 'jsonb',
  actor: 'jsonb',
  binding: 'jsonb',
  parent: 'jsonb',
  notAfter: 'timestamptz',
} as const satisfies Partial<Record<keyof Authorization, string>>
type Stored = keyof typeof AUTHORIZATION
const STORED = Object.keys(AUTHORIZATION) as Stored[]

/** One for each of `from`; `also` goes into columns of its own. */
export function insertAuthorization(
  table: TableOf,
  at: Places<Stored>,
  from = '',
  also: Partial<Record<keyof Authorization & string, string>> = {},
): string {
  const authorization = table(Authorization)
  const values = { ...also, ...at }
  const properties = [...STORED, ...(Object.keys(also) as (keyof typeof also)[])]
  return `insert into ${authorization.name} (${properties.map((one) => authorization.column(one)).join(', ')})
    select ${properties.map((one) => values[one]).join(', ')} ${from}`
}

/** As it is read. */
export function authorizationColumns(table: TableOf, alias = ''): string {
  const columns = table(Authorization).columns(...STORED, 'createdAt', 'revokedAt')
  return alias === '' ? columns : columns.replaceAll(/(^|, )"/g, `$1${alias}."`)
}
