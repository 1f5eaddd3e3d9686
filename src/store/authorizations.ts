/** Authorizations: what the tokens of one approval have in common. Who revokes one ends them all. */
import { Authorization } from '../entities/authorization.ts'
import { RefreshToken } from '../entities/refresh-token.ts'
import { Session } from '../entities/session.ts'
import { User } from '../entities/user.ts'
import {
  AUTHORIZATION,
  authorizationColumns,
  insertAuthorization,
  type AuthorizationRow,
} from './authorization-row.ts'
import { isConsented } from './consents.ts'
import { parameters, type Places } from './parameters.ts'
import { secondsOf, statement, type TableOf } from './statement.ts'
import { maySignIn } from './users.ts'
import { NIL } from '../protocol/uuid.ts'

/** Whose it was, of which session, and since when, in seconds since the epoch. */
export type RevokedRow = Pick<Authorization, 'clientId' | 'subject'> & { sid: string | null; since: number }

/** One that lives, for people to look at. */
export type ListedAuthorizationRow = Pick<Authorization, (typeof LISTED)[number]> & {
  /** When the refresh token that it has was got; null for none. */
  usedAt: Date | null
  /** Whether that one is good now. */
  refreshable: boolean
}

const LISTED = ['id', 'clientId', 'subject', 'scopes', 'resources', 'binding', 'parent', 'createdAt'] as const
/** Of one user's Authorizations for one client, the youngest, which are looked at. */
const WINDOW = 100
/** With the id of the user whom it stands for; and where that is by what was said of them, when all of theirs had ended last before. */
const NEW = { ...AUTHORIZATION, user: 'uuid', ended: 'timestamptz' } as const

export const statements = {
  /**
   * Nothing where there is one of its id, or where the `user` may not sign in, or all of theirs has ended since `ended`; who stands for nobody of ours
   * has neither.
   */
  insert: parameters(NEW).statement<Pick<Authorization, 'id'>>(
    'authorization-insert',
    (table, at) => `${insertAuthorization(table, at)}
      where ${userMaySignIn(table, at)}
      on conflict do nothing returning ${table(Authorization).columns('id')}`,
  ),
  /** The same, while the `consent` lasts. */
  insertConsented: parameters({ ...NEW, consent: 'uuid' }).statement<Pick<Authorization, 'id'>>(
    'authorization-insert-consented',
    (table, at) => `${insertAuthorization(table, at)}
      where ${userMaySignIn(table, at)}
        and ${isConsented(table, at.consent, `${at.subject}::uuid`, at.clientId)}
      on conflict do nothing returning ${table(Authorization).columns('id')}`,
  ),
  find: statement<AuthorizationRow>(
    'authorization-find',
    (table) => {
      const authorization = table(Authorization)
      return `select ${authorizationColumns(table)}
      from ${authorization.name} where ${authorization.column('id')} = $1`
    },
    'with readers',
  ),
  /** The one ($1) that was made of the code with the proof $2, or with that and another. */
  findByCode: statement<Pick<Authorization, 'id' | 'clientId' | 'subject'>>(
    'authorization-find-by-code',
    (table) => {
      const authorization = table(Authorization)
      return `select ${authorization.columns('id', 'clientId', 'subject')} from ${authorization.name}
      where ${authorization.column('id')} = $1 and $2 = any(string_to_array(${authorization.column('codeProof')}, '.'))`
    },
  ),
  /** The one ($1) that was bound to nothing, to what $2 says. */
  bind: statement<Pick<Authorization, 'id'>>('authorization-bind', (table) => {
    const { name, column, columns } = table(Authorization)
    return `update ${name} set ${column('binding')} = $2::jsonb
      where ${column('id')} = $1 and ${column('binding')} is null returning ${columns('id')}`
  }),
  revoke: statement<RevokedRow>('authorization-revoke', (table) => {
    const authorization = table(Authorization)
    return `update ${authorization.name}
      set ${authorization.column('revokedAt')} = now(), ${authorization.column('revocationCause')} = $2
      where ${authorization.column('id')} = $1 and ${authorization.column('revokedAt')} is null
      returning ${authorization.columns('clientId', 'subject')}, ${authorization.column('authentication')}->>'sid' as "sid",
        ${secondsOf(authorization.column('createdAt'))} as "since"`
  }),
  /** Of the user $1, by client and age, at most $3 behind the one of the id $2; from the first where that is gone. */
  listByUser: statement<ListedAuthorizationRow>('authorizations-of-user', (table) => {
    const { subject, clientId, createdAt, id } = columnsOf(table)
    return listed(
      table,
      `select * from ${living(table)} and ${subject} = $1
      and (${clientId}, ${createdAt}, ${id}) > (${behind(table, `coalesce(p.${clientId}, ''), `)})
      order by ${clientId}, ${createdAt}, ${id} limit $3`,
    )
  }),
  /** Of the session whose `sid` is $1, while it lasts, the same. */
  listBySession: statement<ListedAuthorizationRow>('authorizations-of-session', (table) => {
    const { subject, clientId, createdAt, id } = columnsOf(table)
    const session = table(Session)
    return listed(
      table,
      `select * from ${living(table)}
      and ${subject} = (select ${session.column('user')}::text from ${session.name} where ${session.column('sid')} = $1)
      and ${table(Authorization).column('authentication')}->>'sid' = $1::uuid::text
      and (${clientId}, ${createdAt}, ${id}) > (${behind(table, `coalesce(p.${clientId}, ''), `)})
      order by ${clientId}, ${createdAt}, ${id} limit $3`,
    )
  }),
  /** Of the client $1, the same. */
  listByClient: statement<ListedAuthorizationRow>('authorizations-of-client', (table) => {
    const { clientId, createdAt, id } = columnsOf(table)
    return listed(
      table,
      `select * from ${living(table)} and ${clientId} = $1
      and (${createdAt}, ${id}) > (${behind(table)}) order by ${createdAt}, ${id} limit $3`,
    )
  }),
  /** Of the user $1 for the clients $2. */
  listByClients: statement<ListedAuthorizationRow>(
    'authorizations-of-clients',
    (table) => {
      const { subject, clientId, createdAt } = columnsOf(table)
      return listed(
        table,
        `select young.* from unnest($2::text[]) as wanted (client)
      cross join lateral (select * from ${living(table)} and ${subject} = $1 and ${clientId} = wanted.client
        order by ${createdAt} desc limit ${WINDOW}) young`,
      )
    },
    undefined,
    (table) => {
      const { subject, clientId, createdAt } = columnsOf(table)
      return listed(
        table,
        `select * from (select *, row_number() over (partition by ${clientId} order by ${createdAt} desc) as place
        from ${living(table)} and ${subject} = $1 and ${clientId} = any($2::text[])) young where place <= ${WINDOW}`,
      )
    },
  ),
}

/** Who disables or deletes the user, or ends all of theirs, waits for what is stored by this, and then ends it; or has been faster. */
function userMaySignIn(table: TableOf, { user: id, ended }: Places<'user' | 'ended'>): string {
  const user = table(User)
  return `(${id} is null or exists (select from ${user.name}
    where ${user.column('id')} = ${id} and ${maySignIn(user)}
      and coalesce(${user.column('strangersBefore')} <= ${ended}, true) for share))`
}

function columnsOf(table: TableOf) {
  const { column } = table(Authorization)
  return {
    id: column('id'),
    clientId: column('clientId'),
    subject: column('subject'),
    createdAt: column('createdAt'),
  }
}

function living(table: TableOf): string {
  const authorization = table(Authorization)
  return `${authorization.name} where ${authorization.column('revokedAt')} is null`
}

/** Where the one of the id $2 stands in the order of `first`, age and id; else before the first. */
function behind(table: TableOf, first = ''): string {
  const { createdAt, id } = columnsOf(table)
  return `select ${first}coalesce(p.${createdAt}, '-infinity'), coalesce(p.${id}, '${NIL}')
    from (select $2::uuid as wanted) w left join ${table(Authorization).name} p on p.${id} = w.wanted`
}

/** What `found` selects, as it is listed. Refresh tokens are asked for by their ids, also of another server. */
function listed(table: TableOf, found: string): string {
  const authorization = table(Authorization)
  const refresh = table(RefreshToken)
  const { clientId, createdAt, id } = columnsOf(table)
  const of = `r.${refresh.column('authorizationId')}`
  return `with found as materialized (${found})
    select ${authorization.columns(...LISTED).replaceAll(/(^|, )"/g, '$1a."')},
      r.${refresh.column('createdAt')} as "usedAt", (r.${refresh.column('expiresAt')} > now()) is true as "refreshable"
    from found a
    left join ${refresh.name} r on ${of} = a.${id} and ${of} = any(array(select ${id} from found))
    order by a.${clientId}, a.${createdAt}, a.${id}`
}
