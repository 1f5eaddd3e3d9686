/**
 * Removes Authorizations that nothing alive can name, with their codes and refresh tokens. Each is looked at when
 * `keptUntil` comes, so that those which live on are not read again and again.
 */
import { Authorization } from '../entities/authorization.ts'
import { AuthorizationCode } from '../entities/authorization-code.ts'
import { RefreshToken } from '../entities/refresh-token.ts'
import { Session } from '../entities/session.ts'
import { BATCH, counting, type Removed } from './expired.ts'
import { statement, type Statement, type TableOf } from './statement.ts'

export interface DueAuthorization {
  id: string
  /** When nothing can name it any more; null if that is past. */
  endsAt: Date | null
}

export const statements = {
  /**
   * Those whose time has come to be looked at. One ends when its refresh token has, and after it an access token
   * that was got by that: $1 seconds; and not before its session, whose end its client is to hear of. What was revoked, 30
   * days after, for people who ask why.
   */
  due: statement<DueAuthorization>(
    'authorizations-due',
    (table) => {
      const { refresh, session, authorization, id, sid, due } = dueFrom(table)
      return ending(
        `select ${id} as "id", ${endOf(
          table,
          `(
            select ${refresh.column('expiresAt')} from ${refresh.name}
            where ${refresh.column('authorizationId')} = ${authorization.name}.${id}
          )`,
          `(
            select ${session.column('expiresAt')} from ${session.name} where ${session.column('sid')} = ${sid}
          )`,
        )} as "endsAt" ${due}`,
      )
    },
    undefined,
    // Citus joins no local table with a distributed one: what is due comes first, then the sessions.
    (table) => {
      const { refresh, session, id, sid, due } = dueFrom(table)
      const of = refresh.column('authorizationId')
      return `with due as materialized (select * ${due}),
          held as materialized (
            select ${of}, ${refresh.column('expiresAt')} from ${refresh.name} where ${of} in (select ${id} from due)
          )
        ${ending(`select due.${id} as "id", ${endOf(table, `held.${refresh.column('expiresAt')}`, `session."endsAt"`, 'due.')} as "endsAt"
          from due left join held on held.${of} = due.${id}
            left join (select ${session.column('sid')} as sid, ${session.column('expiresAt')} as "endsAt" from ${session.name}) session
              on session.sid = ${sid}`)}`
    },
  ),
  /** Looks at each of $1 again at its time of $2. */
  keep: statement('authorizations-keep', (table) => {
    const authorization = table(Authorization)
    return `update ${authorization.name} set ${authorization.column('keptUntil')} = until
      from unnest($1::uuid[], $2::timestamptz[]) as kept (kept_id, until)
      where ${authorization.column('id')} = kept_id`
  }),
  /** Of the Authorizations $1, each of which has one at most. */
  removeRefreshTokens: removal('refresh-tokens-remove', RefreshToken),
  removeCodes: removal('authorization-codes-remove', AuthorizationCode),
  /** Those of $1 that have nothing any more, in case another janitor is not done with the rest. */
  remove: statement<Removed>('authorizations-remove', (table) => {
    const authorization = table(Authorization)
    const without = [RefreshToken, AuthorizationCode].map((entity) => {
      const rows = table<RefreshToken | AuthorizationCode>(entity)
      return `not exists (select from ${rows.name} where ${rows.column('authorizationId')} = ${authorization.column('id')})`
    })
    return counting(`delete from ${authorization.name}
      where ${authorization.column('id')} = any($1) and ${without.join(' and ')}`)
  }),
}

function dueFrom(table: TableOf) {
  const [authorization, refresh, session] = [table(Authorization), table(RefreshToken), table(Session)]
  const keptUntil = authorization.column('keptUntil')
  const named = `${authorization.column('authentication')}->>'sid'`
  return {
    authorization,
    refresh,
    session,
    id: authorization.column('id'),
    sid: `case when ${named} ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (${named})::uuid end`,
    due: `from ${authorization.name} where ${keptUntil} < now() order by ${keptUntil} limit ${BATCH}`,
  }
}

/** Of one with a refresh token and a session that end then. */
function endOf(table: TableOf, refreshEnds: string, sessionEnds: string, prefix = ''): string {
  const { column } = table(Authorization)
  return `least(${prefix}${column('revokedAt')} + interval '30 days',
          greatest(${prefix}${column('createdAt')}, ${refreshEnds}, ${sessionEnds}) + make_interval(secs => $1))`
}

const ending = (due: string): string =>
  `select "id", case when "endsAt" > now() then "endsAt" end as "endsAt" from (${due}) due`

function removal(name: string, entity: typeof RefreshToken | typeof AuthorizationCode): Statement<Removed> {
  return statement(name, (table) => {
    const rows = table<RefreshToken | AuthorizationCode>(entity)
    return counting(`delete from ${rows.name} where ${rows.column('authorizationId')} = any($1)`)
  })
}
