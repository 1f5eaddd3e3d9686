/** Browser sessions: found by the hash of their cookie, with the user they belong to. */
import { Session } from '../entities/session.ts'
import { User } from '../entities/user.ts'
import { statement } from './statement.ts'

export type SessionRow = Pick<Session, 'sid' | 'authenticatedAt' | 'amr' | 'acr' | 'lastSeenAt'> & {
  userId: string
}

export const statements = {
  /** A session that goes on from an earlier one of the same browser ends that one. */
  replace: statement('session-replace', (table) => {
    const session = table(Session)
    const columns = (
      ['hash', 'sid', 'user', 'authenticatedAt', 'amr', 'acr', 'userAgent', 'address'] as const
    ).map((one) => session.column(one))
    return `with ended as (delete from ${session.name} where ${session.column('hash')} = $11)
      insert into ${session.name} (${columns.join(', ')}, ${session.column('expiresAt')}, ${session.column('endsAt')})
      values ($1, $2, $3, $4, $5, $6, $7, $8,
        now() + make_interval(secs => least($9::float8, $10::float8)), now() + make_interval(secs => $10))`
  }),
  find: statement<SessionRow>('session-find', (table) => {
    const session = table(Session)
    const user = table(User)
    const columns = session.columns('sid', 'authenticatedAt', 'amr', 'acr', 'lastSeenAt').replaceAll(/(^|, )"/g, '$1s."')
    return `select ${columns}, s.${session.column('user')} as "userId"
      from ${session.name} s join ${user.name} u on u.${user.column('id')} = s.${session.column('user')}
      where s.${session.column('hash')} = $1 and s.${session.column('expiresAt')} > now()
        and s.${session.column('endsAt')} > now() and u.${user.column('disabledAt')} is null`
  }),
  touch: statement('session-touch', (table) => {
    const session = table(Session)
    return `update ${session.name} set ${session.column('lastSeenAt')} = now(),
        ${session.column('expiresAt')} = least(now() + make_interval(secs => $2), ${session.column('endsAt')})
      where ${session.column('hash')} = $1`
  }),
} // prettier-ignore
