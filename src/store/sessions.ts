/** Browser sessions: found by the hash of their cookie, with the user they belong to. */
import { Session } from '../entities/session.ts'
import { User } from '../entities/user.ts'
import { isAhead, statement, type Table } from './statement.ts'
import { maySignIn } from './users.ts'

export type SessionRow = Pick<Session, 'sid' | 'authenticatedAt' | 'amr' | 'acr' | 'lastSeenAt'> & {
  userId: string
}

export type ListedSessionRow = Pick<Session, (typeof LISTED)[number]>

const LISTED = [
  'sid',
  'userAgent',
  'address',
  'createdAt',
  'lastSeenAt',
  'authenticatedAt',
  'amr',
  'clients',
  'endsAt',
] as const
/** Clients that a session notes: as many as nobody uses. */
const MOST_CLIENTS = 500
/** Sessions of one user, the youngest, among which those that last are looked for. */
const WINDOW = 500

export const statements = {
  /** The same user again: the session goes on by a new cookie, and what it gave stays its own. */
  renew: statement<{ sid: string }>('session-renew', (table) => {
    const session = table(Session)
    const [hash, authenticatedAt, amr, acr, userAgent, address] = (
      ['hash', 'authenticatedAt', 'amr', 'acr', 'userAgent', 'address'] as const
    ).map((one) => session.column(one))
    return `update ${session.name} set ${hash} = $1, ${authenticatedAt} = $4, ${amr} = $5, ${acr} = $6,
        ${userAgent} = $7, ${address} = $8, ${session.column('lastSeenAt')} = now(), ${lasting(session)}
      where ${hash} = $2 and ${session.column('user')} = $3 and ${isAhead(session.column('endsAt'))}
      returning ${session.column('sid')} as "sid"`
  }),
  /**
   * A new session of a user who may sign in and is still as at $12, when the password was found right: a new one may
   * have been set meanwhile. The session that the browser had before ends.
   */
  start: statement<{ sid: string }>('session-start', (table) => {
    const session = table(Session)
    const user = table(User)
    const columns = (
      [
        'hash',
        'user',
        'authenticatedAt',
        'amr',
        'acr',
        'userAgent',
        'address',
        'sid',
        'expiresAt',
        'endsAt',
      ] as const
    ).map((one) => session.column(one))
    return `with ended as (delete from ${session.name} where ${session.column('hash')} = $2)
      insert into ${session.name} (${columns.join(', ')})
      select $1, $3::uuid, $4::timestamptz, $5::text[], $6, $7, $8, $11::uuid,
        now() + make_interval(secs => least($9::float8, $10::float8)), now() + make_interval(secs => $10)
      from ${user.name} where ${user.column('id')} = $3 and ${maySignIn(user)}
        and date_trunc('milliseconds', ${user.column('updatedAt')}) = $12::timestamptz for share
      returning ${session.column('sid')} as "sid"`
  }),
  find: statement<SessionRow>('session-find', (table) => {
    const session = table(Session)
    const user = table(User)
    const columns = session
      .columns('sid', 'authenticatedAt', 'amr', 'acr', 'lastSeenAt')
      .replaceAll(/(^|, )"/g, '$1s."')
    return `select ${columns}, s.${session.column('user')} as "userId"
      from ${session.name} s join ${user.name} u on u.${user.column('id')} = s.${session.column('user')}
      where s.${session.column('hash')} = $1 and ${isAhead(`s.${session.column('expiresAt')}`)}
        and ${isAhead(`s.${session.column('endsAt')}`)} and ${maySignIn(user, 'u.')}`
  }),
  /** By the hash of its cookie, whether it lasts or not. */
  ofCookie: statement<{ sid: string; userId: string }>('session-of-cookie', (table) => {
    const session = table(Session)
    return `select ${session.column('sid')} as "sid", ${session.column('user')} as "userId"
      from ${session.name} where ${session.column('hash')} = $1`
  }),
  isOpen: statement<{ open: true }>('session-is-open', (table) => {
    const session = table(Session)
    return `select true as "open" from ${session.name} where ${session.column('sid')} = $1
      and ${isAhead(session.column('expiresAt'))} and ${isAhead(session.column('endsAt'))}`
  }),
  /** The same, and who ends it waits until the transaction is over. */
  keepOpen: statement<{ open: true }>('session-keep-open', (table) => {
    const session = table(Session)
    return `select true as "open" from ${session.name} where ${session.column('sid')} = $1
      and ${isAhead(session.column('expiresAt'))} and ${isAhead(session.column('endsAt'))} for share`
  }),
  /** Whether the user $1 has the one whose `sid` is $2, which may be any text. */
  isOfUser: statement<{ found: true }>('session-is-of-user', (table) => {
    const session = table(Session)
    return `select true as "found" from ${session.name}
      where ${session.column('user')} = $1 and ${session.column('sid')}::text = $2`
  }),
  /** Of the user $1, the last used first. */
  listByUser: statement<ListedSessionRow>('sessions-of-user', (table) => {
    const session = table(Session)
    return `select ${session.columns(...LISTED)} from (
        select * from ${session.name} where ${session.column('user')} = $1
        order by ${session.column('createdAt')} desc limit ${WINDOW}) of_user
      where ${session.column('expiresAt')} > now() and ${session.column('endsAt')} > now()
      order by ${session.column('lastSeenAt')} desc`
  }),
  /** Under another cookie, with what was given beside: the former one opens nothing from here on. */
  raise: statement<{ sid: string }>('session-raise', (table) => {
    const session = table(Session)
    const [hash, amr, acr] = (['hash', 'amr', 'acr'] as const).map((one) => session.column(one))
    return `update ${session.name} set ${hash} = $2, ${amr} = $3::text[], ${acr} = $4
      where ${hash} = $1 and ${isAhead(session.column('expiresAt'))} and ${isAhead(session.column('endsAt'))}
      returning ${session.column('sid')} as "sid"`
  }),
  /**
   * Notes that the session whose `sid` is $1 has signed in to the client $2; one of that name that was noted before the client was
   * registered, at $3 in seconds since the epoch, was another.
   */
  join: statement('session-join', (table) => {
    const session = table(Session)
    const clients = session.column('clients')
    return `update ${session.name} set ${clients} = ${clients} || jsonb_build_object($2::text, extract(epoch from now()))
      where ${session.column('sid')} = $1 and coalesce((${clients}->>$2::text)::float8, -1) < $3::float8
        and (select count(*) from jsonb_object_keys(${clients})) < ${MOST_CLIENTS}`
  }),
  /** The sessions of the user $1 that have signed in to the client $2, and when; they know nothing of it from here on. */
  part: statement<{ sid: string; since: number }>('sessions-part', (table) => {
    const session = table(Session)
    const [sid, clients] = [session.column('sid'), session.column('clients')]
    return `with noted as (select ${sid} as sid, (${clients}->>$2::text)::float8 as since from ${session.name}
          where ${session.column('user')} = $1 and ${clients} ? $2::text for update),
        parted as (update ${session.name} set ${clients} = ${clients} - $2::text where ${sid} in (select sid from noted))
      select sid as "sid", since as "since" from noted`
  }),
  touch: statement('session-touch', (table) => {
    const session = table(Session)
    return `update ${session.name} set ${session.column('lastSeenAt')} = now(),
        ${session.column('expiresAt')} = least(now() + make_interval(secs => $2), ${session.column('endsAt')})
      where ${session.column('hash')} = $1`
  }),
}

/** $9 and $10: seconds that it lasts unused, and at most. */
function lasting(session: Table<Session>): string {
  return `${session.column('expiresAt')} = now() + make_interval(secs => least($9::float8, $10::float8)),
    ${session.column('endsAt')} = now() + make_interval(secs => $10)`
}
