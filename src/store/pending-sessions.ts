/** Sign-ins that still lack a factor: found by the hash of their cookie, and moved to the sessions by who has given it. */
import { PendingSession } from '../entities/pending-session.ts'
import { User } from '../entities/user.ts'
import { isAhead, statement, type Table } from './statement.ts'

export type PendingSessionRow = Pick<
  PendingSession,
  'sid' | 'authenticatedAt' | 'amr' | 'acr' | 'userUpdatedAt'
> & {
  userId: string
}

export type ListedPendingRow = Pick<PendingSession, (typeof LISTED)[number]>

const LISTED = ['sid', 'userAgent', 'address', 'createdAt', 'authenticatedAt', 'amr', 'expiresAt'] as const

export const statements = {
  /**
   * One of a user who may sign in and is still as at $9, in the place of what the browser had ($2); the oldest of theirs give way,
   * so that there are $11 at most. It lasts $10 seconds.
   */
  begin: statement<{ sid: string }>('pending-session-begin', (table) => {
    const [pending, user] = [table(PendingSession), table(User)]
    const [hash, userId] = [pending.column('hash'), pending.column('user')]
    const columns = (
      ['hash', 'user', 'authenticatedAt', 'amr', 'acr', 'userAgent', 'address', 'userUpdatedAt', 'sid', 'expiresAt'] as const
    ).map((one) => pending.column(one))
    return `with older as (select ${hash} from ${pending.name} where ${userId} = $3::uuid
        order by ${pending.column('createdAt')} desc offset greatest($11::int - 1, 0)),
      gone as (delete from ${pending.name} where ${hash} = $2 or ${hash} in (select ${hash} from older))
      insert into ${pending.name} (${columns.join(', ')})
      select $1, $3::uuid, $4::timestamptz, $5::text[], $6, $7, $8, $9::timestamptz, $12::uuid,
        now() + make_interval(secs => $10)
      from ${user.name} where ${user.column('id')} = $3 and ${unchanged(user, '$9::timestamptz')} for share
      returning ${pending.column('sid')} as "sid"`
  }),
  /** While its user may sign in, and is as they were. */
  find: statement<PendingSessionRow>('pending-session-find', (table) => {
    const [pending, user] = [table(PendingSession), table(User)]
    const columns = pending
      .columns('sid', 'authenticatedAt', 'amr', 'acr', 'userUpdatedAt')
      .replaceAll(/(^|, )"/g, '$1p."')
    const of = (property: keyof PendingSession & string): string => `p.${pending.column(property)}`
    return `select ${columns}, ${of('user')} as "userId" from ${pending.name} p
      join ${user.name} u on u.${user.column('id')} = ${of('user')}
      where ${of('hash')} = $1 and ${isAhead(of('expiresAt'))} and ${unchanged(user, of('userUpdatedAt'), 'u.')}`
  }),
  /** Under another cookie, with what was given now. */
  raise: statement<{ sid: string }>('pending-session-raise', (table) => {
    const pending = table(PendingSession)
    const [hash, amr, acr] = (['hash', 'amr', 'acr'] as const).map((one) => pending.column(one))
    return `update ${pending.name} set ${hash} = $2, ${amr} = $3::text[], ${acr} = $4
      where ${hash} = $1 and ${isAhead(pending.column('expiresAt'))} returning ${pending.column('sid')} as "sid"`
  }),
  /** Takes it away, once. */
  take: statement<{ sid: string }>('pending-session-take', (table) => {
    const pending = table(PendingSession)
    return `delete from ${pending.name}
      where ${pending.column('hash')} = $1 and ${isAhead(pending.column('expiresAt'))} returning ${pending.column('sid')} as "sid"`
  }),
  /** Of the user $1, the youngest first. */
  listByUser: statement<ListedPendingRow>('pending-sessions-of-user', (table) => {
    const pending = table(PendingSession)
    return `select ${pending.columns(...LISTED)} from ${pending.name}
      where ${pending.column('user')} = $1 and ${isAhead(pending.column('expiresAt'))}
      order by ${pending.column('createdAt')} desc`
  }),
} // prettier-ignore

/** Whether the user may sign in, and their row is as at `since`. */
function unchanged(user: Table<User>, since: string, prefix = ''): string {
  return `${prefix}${user.column('disabledAt')} is null
    and date_trunc('milliseconds', ${prefix}${user.column('updatedAt')}) = ${since}`
}
