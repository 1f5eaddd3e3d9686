/** Refresh tokens: read with their Authorization, replaced by one guarded statement. */
import { Authorization } from '../entities/authorization.ts'
import { RefreshToken } from '../entities/refresh-token.ts'
import { AUTHORIZATION, type AuthorizationRow } from './authorizations.ts'
import { statement, type Statement, type TableOf } from './statement.ts'
import { insertAccessToken } from './tokens.ts'

export type RefreshTokenRow = Pick<RefreshToken, 'hash' | 'generation' | 'sealed' | 'expiresAt'> & {
  /** Milliseconds since it took its predecessor's place, by the database's clock. */
  age: number
} & AuthorizationRow

export const statements = {
  insert: statement('refresh-token-insert', (table) => {
    const refresh = table(RefreshToken)
    const columns = (['authorizationId', 'hash', 'expiresAt'] as const).map((one) => refresh.column(one))
    return `insert into ${refresh.name} (${columns.join(', ')}) values ($1, $2, now() + make_interval(secs => $3))`
  }),
  /** The one that the Authorization $1 has now. */
  find: statement<RefreshTokenRow>(
    'refresh-token-find',
    (table) => {
      const refresh = table(RefreshToken)
      const authorization = table(Authorization)
      const of = (alias: string, columns: string): string => columns.replaceAll(/(^|, )"/g, `$1${alias}."`)
      return `select ${of('r', refresh.columns('hash', 'generation', 'sealed', 'expiresAt'))},
        (extract(epoch from now() - r.${refresh.column('createdAt')}) * 1000)::float8 as "age",
        ${of('a', authorization.columns(...AUTHORIZATION, 'createdAt', 'revokedAt'))}
      from ${refresh.name} r
        join ${authorization.name} a on a.${authorization.column('id')} = r.${refresh.column('authorizationId')}
      where r.${refresh.column('authorizationId')} = $1`
    },
    'with readers',
  ),
  /** Writes the one ($2) that a living Authorization ($1) has now as it is. */
  confirm: statement<{ hash: string }>(
    'refresh-token-confirm',
    (table) => {
      const refresh = table(RefreshToken)
      const { column } = refresh
      return `update ${refresh.name} set ${column('sealed')} = ${column('sealed')}
        where ${column('authorizationId')} = $1 and ${column('hash')} = $2 and ${isLiving(table)}
        returning ${column('hash')} as "hash"`
    },
    'with writers',
  ),
  rotate: rotate('refresh-token-rotate'),
  /** And stores an opaque access token ($6, its claims $7, its end $8). */
  rotateForOpaque: rotate('refresh-token-rotate-opaque', (table) => insertAccessToken(table, 6)),
}

/** Puts a successor ($3, sealed $4, for $5 seconds) in the place of the token ($2) of a living Authorization ($1). */
function rotate(name: string, more?: (table: TableOf) => string): Statement<{ hash: string }> {
  return statement(
    name,
    (table) => {
      const refresh = table(RefreshToken)
      const { column } = refresh
      const replace = `update ${refresh.name} set ${column('hash')} = $3, ${column('sealed')} = $4,
          ${column('generation')} = ${column('generation')} + 1, ${column('createdAt')} = now(),
          ${column('expiresAt')} = now() + make_interval(secs => $5)
        where ${column('authorizationId')} = $1 and ${column('hash')} = $2 and ${column('expiresAt')} > now()
          and ${isLiving(table)}
        returning ${column('hash')} as "hash"`
      return more === undefined
        ? replace
        : `with replaced as (${replace}), more as (${more(table)} from replaced) select "hash" from replaced`
    },
    'with writers',
  )
}

/** That the Authorization $1 is not revoked. */
function isLiving(table: TableOf): string {
  const { name, column } = table(Authorization)
  return `exists (select from ${name} where ${column('id')} = $1 and ${column('revokedAt')} is null)`
}
