/** What is stored of access tokens: opaque ones, and signed ones that were revoked. */
import { AccessToken, RevokedToken } from '../entities/access-token.ts'
import { recordChange } from './changes.ts'
import type { Query } from './database.ts'
import { statement } from './statement.ts'

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
}

/** Stores a revoked `jti` until the token's own end, and tells every process. */
export async function storeRevocation(query: Query, jti: string, expiresAt: Date): Promise<void> {
  await query(statements.insertRevoked, [jti, expiresAt])
  await recordChange(query, 'revoked_token', jti, expiresAt)
}
