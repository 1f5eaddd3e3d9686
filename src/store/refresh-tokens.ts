/** Refresh tokens: read with their Authorization, replaced by one guarded statement. */
import { Authorization } from '../entities/authorization.ts'
import { RefreshToken } from '../entities/refresh-token.ts'
import { AUTHORIZATION, type AuthorizationRow } from './authorizations.ts'
import { statement, type Statement, type TableOf } from './statement.ts'
import { insertAccessToken } from './tokens.ts'

export type RefreshTokenRow = Pick<RefreshToken, 'expiresAt' | 'consumedAt' | 'successor'> & {
  /** Of the successor. */
  successorConsumedAt: Date | null
  /** Milliseconds since it was consumed, by the database's clock. */
  consumedFor: number | null
} & AuthorizationRow

export const statements = {
  insert: statement('refresh-token-insert', (table) => {
    const refresh = table(RefreshToken)
    const columns = (['authorizationId', 'hash', 'expiresAt'] as const).map((one) => refresh.column(one))
    return `insert into ${refresh.name} (${columns.join(', ')}) values ($1, $2, now() + make_interval(secs => $3))`
  }),
  find: statement<RefreshTokenRow>(
    'refresh-token-find',
    (table) => {
      const refresh = table(RefreshToken)
      const authorization = table(Authorization)
      const of = (alias: string, columns: string): string => columns.replaceAll(/(^|, )"/g, `$1${alias}."`)
      return `select ${of('r', refresh.columns('expiresAt', 'consumedAt', 'successor'))},
        s.${refresh.column('consumedAt')} as "successorConsumedAt",
        (extract(epoch from now() - r.${refresh.column('consumedAt')}) * 1000)::float8 as "consumedFor",
        ${of('a', authorization.columns(...AUTHORIZATION, 'createdAt', 'revokedAt'))}
      from ${refresh.name} r
        join ${authorization.name} a on a.${authorization.column('id')} = r.${refresh.column('authorizationId')}
        left join ${refresh.name} s on s.${refresh.column('authorizationId')} = r.${refresh.column('authorizationId')}
          and s.${refresh.column('hash')} = r.${refresh.column('successorHash')}
      where r.${refresh.column('authorizationId')} = $1 and r.${refresh.column('hash')} = $2`
    },
    'with readers',
  ),
  rotate: rotate('refresh-token-rotate'),
  /** And stores an opaque access token ($6, its claims $7, its end $8). */
  rotateForOpaque: rotate('refresh-token-rotate-opaque', (table) => insertAccessToken(table, 6)),
}

/** Consumes the token ($2) of a living Authorization ($1) and puts its successor ($3, sealed $4) in its place. */
function rotate(name: string, more?: (table: TableOf) => string): Statement<{ hash: string }> {
  return statement(
    name,
    (table) => {
      const refresh = table(RefreshToken)
      const authorization = table(Authorization)
      const [id, hash, expiresAt] = (['authorizationId', 'hash', 'expiresAt'] as const).map((one) =>
        refresh.column(one),
      )
      return `with consumed as (
        update ${refresh.name} set ${refresh.column('consumedAt')} = now(),
          ${refresh.column('successorHash')} = $3, ${refresh.column('successor')} = $4
        where ${id} = $1 and ${hash} = $2 and ${refresh.column('consumedAt')} is null and ${expiresAt} > now()
          and exists (select from ${authorization.name}
            where ${authorization.column('id')} = $1 and ${authorization.column('revokedAt')} is null)
        returning true
      )${more === undefined ? '' : `, more as (${more(table)} from consumed)`}
      insert into ${refresh.name} (${id}, ${hash}, ${expiresAt})
      select $1, $3, now() + make_interval(secs => $5) from consumed
      returning ${hash} as "hash"`
    },
    'with writers',
  )
}
