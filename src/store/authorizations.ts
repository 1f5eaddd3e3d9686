/** Authorizations: what the tokens of one approval have in common. Who revokes one ends them all. */
import { Authorization } from '../entities/authorization.ts'
import { statement } from './statement.ts'

export type AuthorizationRow = Pick<Authorization, (typeof AUTHORIZATION)[number] | 'createdAt' | 'revokedAt'>

/** In the order in which statements take them. */
export const AUTHORIZATION = [
  'id',
  'clientId',
  'subject',
  'scopes',
  'resources',
  'parameters',
  'authentication',
] as const

export const statements = {
  insert: statement('authorization-insert', (table) => {
    const authorization = table(Authorization)
    return `insert into ${authorization.name} (${AUTHORIZATION.map((one) => authorization.column(one)).join(', ')})
      values ($1, $2, $3, $4, $5, $6, $7)`
  }),
  find: statement<AuthorizationRow>('authorization-find', (table) => {
    const authorization = table(Authorization)
    return `select ${authorization.columns(...AUTHORIZATION, 'createdAt', 'revokedAt')}
      from ${authorization.name} where ${authorization.column('id')} = $1`
  }),
  revoke: statement<Pick<Authorization, 'clientId' | 'subject'>>('authorization-revoke', (table) => {
    const authorization = table(Authorization)
    return `update ${authorization.name}
      set ${authorization.column('revokedAt')} = now(), ${authorization.column('revocationCause')} = $2
      where ${authorization.column('id')} = $1 and ${authorization.column('revokedAt')} is null
      returning ${authorization.columns('clientId', 'subject')}`
  }),
}
