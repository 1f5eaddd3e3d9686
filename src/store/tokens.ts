/** What is stored of access tokens: opaque ones, revoked ones, and the Authorizations that tokens name. */
import { AccessToken, RevokedToken } from '../entities/access-token.ts'
import { Authorization } from '../entities/authorization.ts'
import { recordChange } from './changes.ts'
import type { Database } from './database.ts'
import { statement } from './statement.ts'

export type AuthorizationRow = Pick<
  Authorization,
  'id' | 'clientId' | 'subject' | 'scopes' | 'resources' | 'parameters' | 'authentication' | 'revokedAt'
>

const AUTHORIZATION = [
  'id',
  'clientId',
  'subject',
  'scopes',
  'resources',
  'parameters',
  'authentication',
] as const

export const statements = {
  insertAccessToken: statement('access-token-insert', (table) => {
    const token = table(AccessToken)
    return `insert into ${token.name} (${token.column('hash')}, ${token.column('claims')}, ${token.column('expiresAt')})
      values ($1, $2, $3)`
  }),
  accessToken: statement<Pick<AccessToken, 'claims' | 'revokedAt'>>('access-token-find', (table) => {
    const token = table(AccessToken)
    return `select ${token.columns('claims', 'revokedAt')} from ${token.name} where ${token.column('hash')} = $1`
  }),
  revokeAccessToken: statement('access-token-revoke', (table) => {
    const token = table(AccessToken)
    return `update ${token.name} set ${token.column('revokedAt')} = now()
      where ${token.column('hash')} = $1 and ${token.column('revokedAt')} is null`
  }),
  insertRevoked: statement('revoked-token-insert', (table) => {
    const revoked = table(RevokedToken)
    return `insert into ${revoked.name} (${revoked.column('jti')}, ${revoked.column('expiresAt')})
      values ($1, $2) on conflict do nothing`
  }),
  revoked: statement<Pick<RevokedToken, 'jti' | 'expiresAt'>>('revoked-tokens', (table) => {
    const revoked = table(RevokedToken)
    return `select ${revoked.columns('jti', 'expiresAt')} from ${revoked.name} where ${revoked.column('expiresAt')} > now()`
  }),
  insertAuthorization: statement('authorization-insert', (table) => {
    const authorization = table(Authorization)
    return `insert into ${authorization.name} (${AUTHORIZATION.map((one) => authorization.column(one)).join(', ')})
      values ($1, $2, $3, $4, $5, $6, $7)`
  }),
  authorization: statement<AuthorizationRow>('authorization-find', (table) => {
    const authorization = table(Authorization)
    return `select ${authorization.columns(...AUTHORIZATION, 'revokedAt')}
      from ${authorization.name} where ${authorization.column('id')} = $1`
  }),
  revokeAuthorization: statement('authorization-revoke', (table) => {
    const authorization = table(Authorization)
    return `update ${authorization.name}
      set ${authorization.column('revokedAt')} = now(), ${authorization.column('revocationCause')} = $2
      where ${authorization.column('id')} = $1 and ${authorization.column('revokedAt')} is null`
  }),
}

/** Stores a revoked `jti` until the token's own end, and tells every process. */
export async function storeRevocation(database: Database, jti: string, expiresAt: Date): Promise<void> {
  await database.transaction(async (query) => {
    await query(statements.insertRevoked, [jti, expiresAt])
    await recordChange(query, 'revoked_token', jti, expiresAt)
  })
}
