/** What is stored of access tokens: opaque ones, and signed ones that were revoked. */
import { AccessToken, RevokedToken } from '../entities/access-token.ts'
import { Authorization } from '../entities/authorization.ts'
import { authorizationColumns, type AuthorizationRow } from './authorization-row.ts'
import { recordChange } from './changes.ts'
import { parameters, type Places } from './parameters.ts'
import { type Query, statement, type TableOf } from './statement.ts'

/** With its Authorization, if it has one and it was asked for. */
export type AccessTokenRow = Pick<AccessToken, 'claims'> & { tokenRevokedAt: Date | null } & (
    | AuthorizationRow
    | { id?: null }
  )

/** What is stored of an opaque one, beside the id of its Authorization. */
export const OPAQUE = { opaqueHash: 'text', opaqueClaims: 'jsonb', opaqueExpiresAt: 'timestamptz' } as const

/** By the names of its parameters. */
export type OpaqueRow = Readonly<Record<'id' | keyof typeof OPAQUE, unknown>>

/** Of one row, or one for each of `from`. */
export function insertAccessToken(table: TableOf, at: Places<keyof OpaqueRow>, from = ''): string {
  const token = table(AccessToken)
  const columns = (['authorizationId', 'hash', 'claims', 'expiresAt'] as const).map((one) =>
    token.column(one),
  )
  const values = `${at.id}, ${at.opaqueHash}, ${at.opaqueClaims}, ${at.opaqueExpiresAt}`
  return `insert into ${token.name} (${columns.join(', ')})
    ${from === '' ? `values (${values})` : `select ${values} ${from}`}`
}

function ofToken(table: TableOf): string {
  const token = table(AccessToken)
  return `t.${token.column('claims')} as "claims", t.${token.column('revokedAt')} as "tokenRevokedAt"`
}

export const statements = {
  insertAccessToken: parameters({ id: 'uuid', ...OPAQUE }).statement(
    'access-token-insert',
    (table, at) => insertAccessToken(table, at),
    'with writers',
  ),
  accessToken: statement<AccessTokenRow>(
    'access-token-find',
    (table) => {
      const token = table(AccessToken)
      return `select ${ofToken(table)} from ${token.name} t
        where t.${token.column('authorizationId')} = $1 and t.${token.column('hash')} = $2`
    },
    'with readers',
  ),
  grantedToken: statement<AccessTokenRow>(
    'granted-token-find',
    (table) => {
      const token = table(AccessToken)
      const authorization = table(Authorization)
      return `select ${ofToken(table)}, ${authorizationColumns(table, 'a')}
      from ${token.name} t left join ${authorization.name} a on a.${authorization.column('id')} = t.${token.column('authorizationId')}
      where t.${token.column('authorizationId')} = $1 and t.${token.column('hash')} = $2`
    },
    'with readers',
  ),
  revokeAccessToken: statement('access-token-revoke', (table) => {
    const token = table(AccessToken)
    return `update ${token.name} set ${token.column('revokedAt')} = now()
      where ${token.column('authorizationId')} = $1 and ${token.column('hash')} = $2
        and ${token.column('revokedAt')} is null`
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
