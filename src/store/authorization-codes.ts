/** Authorization codes: each is read once to be judged, and removed by the statement that stores what it gives. */
import { Authorization } from '../entities/authorization.ts'
import { AuthorizationCode } from '../entities/authorization-code.ts'
import { RefreshToken } from '../entities/refresh-token.ts'
import { Session } from '../entities/session.ts'
import { AUTHORIZATION } from './authorizations.ts'
import { isConsented } from './consents.ts'
import { statement, type Statement, type TableOf } from './statement.ts'
import { insertAccessToken } from './tokens.ts'

export type AuthorizationCodeRow = Pick<
  AuthorizationCode,
  'clientId' | 'subject' | 'redirectUri' | 'codeChallenge' | 'granted' | 'createdAt'
>

export const statements = {
  /**
   * Of the session $10 while it lasts, and of the consent $11 unless that is null: who ends one of them, and then its codes,
   * finds this one or makes it impossible.
   */
  insert: statement<{ hash: string }>('authorization-code-insert', (table) => {
    const code = table(AuthorizationCode)
    const session = table(Session)
    const columns = (
      [
        'authorizationId',
        'hash',
        'clientId',
        'subject',
        'redirectUri',
        'codeChallenge',
        'granted',
        'proof',
        'expiresAt',
      ] as const
    ).map((one) => code.column(one))
    return `insert into ${code.name} (${columns.join(', ')})
      select $1::uuid, $2, $3::text, $4::text, $5, $6, $7::jsonb, $8, now() + make_interval(secs => $9)
      from ${session.name} where ${session.column('sid')} = $10
        and ($11::uuid is null or ${isConsented(table, '$11::uuid', '$4::text::uuid', '$3::text')}) for share
      returning ${code.column('hash')} as "hash"`
  }),
  find: statement<AuthorizationCodeRow>(
    'authorization-code-find',
    (table) => {
      const code = table(AuthorizationCode)
      return `select ${code.columns('clientId', 'subject', 'redirectUri', 'codeChallenge', 'granted', 'createdAt')}
      from ${code.name} where ${code.column('authorizationId')} = $1 and ${code.column('hash')} = $2`
    },
    'with readers',
  ),
  exchange: exchange('authorization-code-exchange'),
  /** And stores an opaque access token ($11, its claims $12, its end $13). */
  exchangeForOpaque: exchange('authorization-code-exchange-opaque', (table) => insertAccessToken(table, 11)),
}

/**
 * Spends the code ($8), which is then gone, and makes its Authorization, with a refresh token ($9) unless that is null. The
 * `case` keeps the index of those that are unspent out of it (`isAhead`).
 */
function exchange(name: string, more?: (table: TableOf) => string): Statement<{ authorizationId: string }> {
  return statement(
    name,
    (table) => {
      const code = table(AuthorizationCode)
      const authorization = table(Authorization)
      const refresh = table(RefreshToken)
      const columns = [...AUTHORIZATION, 'codeProof' as const]
        .map((one) => authorization.column(one))
        .join(', ')
      const [id, hash, expiresAt] = (['authorizationId', 'hash', 'expiresAt'] as const).map((one) =>
        refresh.column(one),
      )
      return `with spent as (
        delete from ${code.name}
        where ${code.column('authorizationId')} = $1 and ${code.column('hash')} = $8
          and case when ${code.column('spentAt')} is null then ${code.column('expiresAt')} > now() else false end
        returning ${code.column('proof')} as proof
      ), refreshing as (
        insert into ${refresh.name} (${id}, ${hash}, ${expiresAt})
        select $1::uuid, $9::text, now() + make_interval(secs => $10) from spent where $9::text is not null
      )${more === undefined ? '' : `, more as (${more(table)} from spent)`}
      insert into ${authorization.name} (${columns})
      select $1::uuid, $2::text, $3::text, $4::text[], $5::text[], $6::jsonb, $7::jsonb, proof from spent
      returning ${authorization.column('id')} as "authorizationId"`
    },
    'with writers',
  )
}
