/** Refresh tokens: read with their Authorization, replaced by one guarded statement. */
import { Authorization } from '../entities/authorization.ts'
import { RefreshToken } from '../entities/refresh-token.ts'
import { authorizationColumns, type AuthorizationRow } from './authorization-row.ts'
import { parameters, type Places } from './parameters.ts'
import { placedFunction } from './placed-function.ts'
import { statement, type TableOf } from './statement.ts'
import { insertAccessToken, OPAQUE } from './tokens.ts'

export type RefreshTokenRow = Pick<RefreshToken, 'hash' | 'generation' | 'sealed' | 'expiresAt'> & {
  /** Milliseconds since it took its predecessor's place, by the database's clock. */
  age: number
} & AuthorizationRow

/** One for its successor, by the id of their Authorization. */
const ROTATION = { id: 'uuid', hash: 'text', successor: 'text', sealed: 'text', lifetime: 'float8' } as const

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
      const columns = refresh.columns('hash', 'generation', 'sealed', 'expiresAt')
      return `select ${columns.replaceAll(/(^|, )"/g, '$1r."')},
        (extract(epoch from now() - r.${refresh.column('createdAt')}) * 1000)::float8 as "age",
        ${authorizationColumns(table, 'a')}
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
  rotate: parameters(ROTATION).statement<{ hash: string }>('refresh-token-rotate', replace, 'with writers'),
  /** And stores an opaque access token. */
  rotateForOpaque: parameters({ ...ROTATION, ...OPAQUE }).statement<{ hash: string }>(
    'refresh-token-rotate-opaque',
    (table, at) => `with replaced as (${replace(table, at)}),
      more as (${insertAccessToken(table, at, 'from replaced')}) select "hash" from replaced`,
    'with writers',
    (table, at) => ROTATING.call(table, at),
  ),
}

/** The same where Citus distributes the database: one trip to one server, and one commit there. */
export const ROTATING = placedFunction({
  name: 'latchkey_rotate',
  types: { ...ROTATION, ...OPAQUE },
  returns: { hash: 'text' },
  declares: {},
  body: (table, at) => `${replace(table, at)} into "hash";
    if not found then return; end if;
    ${insertAccessToken(table, at)};
    return next;`,
})

/** Puts the successor in the place of the token of a living Authorization; `lifetime` in seconds. */
function replace(table: TableOf, at: Places<keyof typeof ROTATION>): string {
  const refresh = table(RefreshToken)
  const { column } = refresh
  return `update ${refresh.name} set ${column('hash')} = ${at.successor}, ${column('sealed')} = ${at.sealed},
      ${column('generation')} = ${column('generation')} + 1, ${column('createdAt')} = now(),
      ${column('expiresAt')} = now() + make_interval(secs => ${at.lifetime})
    where ${column('authorizationId')} = ${at.id} and ${column('hash')} = ${at.hash}
      and ${column('expiresAt')} > now() and ${isLiving(table, at.id)}
    returning ${column('hash')} as "hash"`
}

/** That the Authorization of this id is not revoked. */
function isLiving(table: TableOf, id = '$1'): string {
  const { name, column } = table(Authorization)
  return `exists (select from ${name} where ${column('id')} = ${id} and ${column('revokedAt')} is null)`
}
