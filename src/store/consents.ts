/** What users have allowed clients, remembered; and the end of it. */
import { Authorization } from '../entities/authorization.ts'
import { AuthorizationCode } from '../entities/authorization-code.ts'
import { Client } from '../entities/client.ts'
import { Consent } from '../entities/consent.ts'
import type { EndedClient } from '../events.ts'
import { type Held, holdersOf } from './holders.ts'
import { statements as sessions } from './sessions.ts'
import { secondsOf, statement, type Query, type Table, type TableOf } from './statement.ts'

/** A client that a user allows something, or has an Authorization for. */
export type ConnectedRow = { clientId: string } & {
  [Property in 'scopes' | 'resources' | 'lines' | 'grantedAt']: Consent[Property] | null
}

export const statements = {
  /** As what $3 says that people know the client, where it is not registered here. */
  find: statement<Pick<Consent, 'id' | 'scopes' | 'declined' | 'resources' | 'lines'>>(
    'consent-find',
    (table) => {
      const consent = table(Consent)
      return `select ${consent.columns('id', 'scopes', 'declined', 'resources', 'lines')} from ${consent.name}
      where ${consent.column('user')} = $1 and ${consent.column('client')} = $2 and not ${isVoid(consent, '$3::text')}`
    },
  ),
  /** What was allowed to another by this name, or is too long ago: nothing is added to it. */
  forgetVoid: statement('consent-forget-void', (table) => {
    const consent = table(Consent)
    return `delete from ${consent.name} where ${consent.column('user')} = $1 and ${consent.column('client')} = $2
      and ${isVoid(consent, '$3::text')}`
  }),
  /**
   * Of what was allowed without a line of the key $3, nothing is left but that line, to which all else is added. What came of it was allowed
   * all the same, and lasts.
   */
  empty: statement('consent-empty', (table) => {
    const consent = table(Consent)
    const lists = (['scopes', 'resources', 'declined'] as const).map((one) => `${consent.column(one)} = '{}'`)
    return `update ${consent.name} set ${lists.join(', ')}, ${consent.column('lines')} = jsonb_build_object($3::text, '')
      where ${consent.column('user')} = $1 and ${consent.column('client')} = $2 and ${isElsewhere(consent, '$3::text')}`
  }),
  /**
   * Adds to what was allowed before; where that makes more than $6 lines, in their place. Takes away the scopes $7, which were left
   * out; $8 are left out no longer, nor is what is allowed now. It is for the identity $9 of a client without a row, and ends after
   * $10 seconds; where $9 is null, nothing is allowed to a client that is not registered, or not any more. Nothing is added either to
   * what `forgetVoid` or, by the key $11, `empty` would take away, and was allowed since: then no row comes, and all of it is done once more.
   */
  grant: statement<Pick<Consent, 'id'>>('consent-grant', (table) => {
    const consent = table(Consent)
    const [user, client, scopes, declined, resources, lines, grantedAt] = (
      ['user', 'client', 'scopes', 'declined', 'resources', 'lines', 'grantedAt'] as const
    ).map((one) => consent.column(one))
    const [identity, expiresAt] = [consent.column('identity'), consent.column('expiresAt')]
    const registered = table(Client)
    const both = (column: string): string =>
      `array(select distinct unnest(had.${column} || excluded.${column}) order by 1)`
    const less = (list: string, gone: string): string =>
      `array(select one from unnest(${list}) as one where one <> all (${gone}) order by 1)`
    return `insert into ${consent.name} as had
        (${user}, ${client}, ${scopes}, ${resources}, ${lines}, ${declined}, ${identity}, ${expiresAt})
      select $1::uuid, $2::text, $3::text[], $4::text[], $5::jsonb, $7::text[], $9::text, now() + make_interval(secs => $10)
      where $9::text is not null or exists (select from ${registered.name}
        where ${registered.column('clientId')} = $2::text for key share)
      on conflict (${user}, ${client}) do update
        set ${scopes} = ${less(both(scopes!), '$7::text[]')}, ${resources} = ${both(resources!)},
          ${declined} = ${less(both(declined!), '$3::text[] || $8::text[]')},
          ${lines} = case when (select count(*) from jsonb_object_keys(had.${lines} || excluded.${lines})) > $6
            then excluded.${lines} else had.${lines} || excluded.${lines} end,
          ${grantedAt} = now(), ${identity} = excluded.${identity}, ${expiresAt} = excluded.${expiresAt}
        where not ${isVoid(consent, '$9::text', 'had.')} and ${isElsewhere(consent, '$11::text', 'had.')} is not true
      returning had.${consent.columns('id')}`
  }),
  /**
   * The clients that the user $1 has allowed something, or that hold an Authorization of theirs, in the order of ids,
   * at most $3 behind $2. Each step of the recursion is one look at an index, however many Authorizations there are.
   */
  connected: statement<ConnectedRow>(
    'consents-connected',
    (table) => {
      const { authorized, clientId } = authorizedClients(table)
      const next = (after: string) =>
        `select ${clientId} ${authorized} and ${clientId} > ${after} order by ${clientId} limit 1`
      return `with recursive authorized (id) as (
        (${next('$2')}) union all
        select (${next('authorized.id')}) from authorized where authorized.id is not null
      ), ${connected(table, 'select id from authorized where id is not null limit $3')}`
    },
    undefined,
    // Citus takes no recursion here: all of them are read.
    (table) => {
      const { authorized, clientId } = authorizedClients(table)
      return `with ${connected(table, `select distinct ${clientId} ${authorized} and ${clientId} > $2 order by ${clientId} limit $3`)}`
    },
  ),
  /** In this and those below, $1 is the user's id, and $2 the client's. */
  forget: statement<{ forgotten: true }>('consent-forget', (table) => {
    const consent = table(Consent)
    return `delete from ${consent.name}
      where ${consent.column('user')} = $1 and ${consent.column('client')} = $2 returning true as "forgotten"`
  }),
  /** All that the user $1 has allowed. */
  forgetAll: statement('consents-forget-all', (table) => {
    const consent = table(Consent)
    return `delete from ${consent.name} where ${consent.column('user')} = $1`
  }),
  /** Those that are not spent: of a spent one there is an Authorization, which it goes with. */
  deleteCodes: statement('consent-codes-delete', (table) => {
    const code = table(AuthorizationCode)
    return `delete from ${code.name} where ${code.column('subject')} = $1
      and ${code.column('clientId')} = $2 and ${code.column('spentAt')} is null`
  }),
  revokeAuthorizations: statement<Pick<Held, 'sid' | 'since'>>('consent-authorizations-revoke', (table) => {
    const authorization = table(Authorization)
    return `update ${authorization.name}
      set ${authorization.column('revokedAt')} = now(), ${authorization.column('revocationCause')} = 'consent withdrawn'
      where ${authorization.column('subject')} = $1 and ${authorization.column('clientId')} = $2
        and ${authorization.column('revokedAt')} is null
      returning ${authorization.column('authentication')}->>'sid' as "sid",
        ${secondsOf(authorization.column('createdAt'))} as "since"`
  }),
}

/** Whether it says nothing of who is known as `identity` now: null for a client that is registered. */
function isVoid(consent: Table<Consent>, identity: string, of = ''): string {
  return `(${of}${consent.column('identity')} is distinct from ${identity}
    or coalesce(${of}${consent.column('expiresAt')} + interval '0' <= now(), false))`
}

/** Whether it has no line of this key; null where that is null. */
function isElsewhere(consent: Table<Consent>, key: string, of = ''): string {
  return `(not (${of}${consent.column('lines')} ? ${key}))`
}

/** Authorizations of the user $1, from which the clients that hold one are read. */
function authorizedClients(table: TableOf) {
  const { name, column } = table(Authorization)
  return {
    clientId: column('clientId'),
    authorized: `from ${name} where ${column('subject')} = $1 and ${column('revokedAt')} is null`,
  }
}

/** The rest of `connected`: with the clients that `authorized` selects. */
function connected(table: TableOf, authorized: string): string {
  const consent = table(Consent)
  const [user, client] = [consent.column('user'), consent.column('client')]
  return `connected (id) as (
        (${authorized})
        union
        (select ${client} from ${consent.name} where ${user} = $1::uuid and ${client} > $2 order by ${client} limit $3)
      )
      select id as "clientId", ${consent.columns('scopes', 'resources', 'lines', 'grantedAt')}
      from connected left join ${consent.name} on ${user} = $1::uuid and ${client} = id
      order by id limit $3`
}

/**
 * That the consent of this id, user and client is alive, as a condition on what is stored in the same statement. Who withdraws
 * it waits for that and takes it away, or has been faster: then nothing is stored.
 */
export function isConsented(table: TableOf, id: string, userId: string, clientId: string): string {
  const consent = table(Consent)
  return `exists (select from ${consent.name} where ${consent.column('user')} = ${userId}
    and ${consent.column('client')} = ${clientId} and ${consent.column('id')} = ${id} for share)`
}

/**
 * Ends all that the user has allowed the client; returns that client with the sessions in which it has signed them in, nobody where all of it was
 * another's that had the name, or null where there was nothing.
 * The consent first and then sessions, as who stores a code comes to them; and then codes, as in `endings.ts`.
 */
export async function withdraw(
  query: Query,
  userId: string,
  clientId: string,
): Promise<readonly EndedClient[] | null> {
  const values = [userId, clientId]
  const forgotten = await query(statements.forget, values)
  const parted = await query(sessions.part, values)
  await query(statements.deleteCodes, values)
  const revoked = await query(statements.revokeAuthorizations, values)
  if (forgotten.length + revoked.length === 0) return null
  const held = [...parted, ...revoked].map((one) => ({ ...one, client: clientId }))
  const [holder] = await holdersOf(query, held)
  // What is remembered ends with its client.
  if (holder === undefined && forgotten.length === 0) return []
  return [holder ?? { client: clientId, sids: [] }]
}
