/**
 * Ends what belongs to a user, or to sessions of theirs: the sessions, the codes that are on their way, and the
 * Authorizations with all that name them. Nothing here says who may ask for it.
 */
import { Authorization } from '../entities/authorization.ts'
import { AuthorizationCode } from '../entities/authorization-code.ts'
import { Client } from '../entities/client.ts'
import { PendingSession } from '../entities/pending-session.ts'
import { Session } from '../entities/session.ts'
import type { EndedClient } from '../events.ts'
import { OWN_CLOCK_SKEW } from '../protocol/age-of.ts'
import { type Held, holdersOf, MOST_SIDS } from './holders.ts'
import { type Query, statement, type Statement } from './statement.ts'
import { statements as knownBrowsers } from './known-browsers.ts'

interface EndedSession {
  readonly sid: string
  /** Those that it signed in to; not one that has the name since. */
  readonly clients: readonly string[]
}

/** In each, $1 is the user's id. */
interface Ending {
  readonly deleteSessions: Statement<EndedSession>
  /** Those that still lack a factor. */
  readonly deletePending: Statement<Pick<PendingSession, 'sid'>>
  readonly deleteCodes: Statement<never>
  readonly revokeAuthorizations: Statement<Held>
}

/**
 * Of the sessions whose `sid` $2 is (`ofSession`), with `suffix` in the statements' names. What has `offline_access`
 * outlives its session (OpenID Connect Core §11), and so does what was granted for that, with which it ends; unless `all` ends.
 */
function ending(suffix: string, ofSession: (sid: string) => string, all = false): Ending {
  return {
    deleteSessions: statement(`sessions-end${suffix}`, (table) => {
      const session = table(Session)
      const client = table(Client)
      const registered = `select ${client.column('createdAt')} from ${client.name} where ${client.column('clientId')} = one.id`
      return `with ended as (delete from ${session.name}
          where ${session.column('user')} = $1 and ${ofSession(`${session.column('sid')}::text`)}
          returning ${session.columns('sid', 'clients')})
        select "sid", array(select one.id from jsonb_each_text("clients") one (id, since)
          where coalesce((${registered}) - interval '${OWN_CLOCK_SKEW} seconds' <= to_timestamp(one.since::float8), true)
          order by one.id) as "clients"
        from ended`
    }),
    deletePending: statement(`pending-sessions-end${suffix}`, (table) => {
      const pending = table(PendingSession)
      return `delete from ${pending.name}
        where ${pending.column('user')} = $1 and ${ofSession(`${pending.column('sid')}::text`)}
        returning ${pending.columns('sid')}`
    }),
    /** Those that are not spent: of a spent one there is always an Authorization, which it goes with. */
    deleteCodes: statement(`authorization-codes-end${suffix}`, (table) => {
      const code = table(AuthorizationCode)
      return `delete from ${code.name}
        where ${code.column('subject')} = $1 and ${code.column('spentAt')} is null
          and ${ofSession(`${code.column('granted')}->'authentication'->>'sid'`)}`
    }),
    /** $3 is the cause. Returns whose they were, of those too that outlive it. */
    revokeAuthorizations: statement(`authorizations-end${suffix}`, (table) => {
      const authorization = table(Authorization)
      const sid = `${authorization.column('authentication')}->>'sid'`
      const follows = `coalesce(${authorization.column('parent')}->>'outlives' = ${sid}, false)`
      const outlives = `('offline_access' = any(${authorization.column('scopes')}) or ${follows})`
      const whose = `${authorization.column('clientId')} as client, ${sid} as sid, ${authorization.column('createdAt')} as made`
      const living = `${authorization.column('subject')} = $1 and ${authorization.column('revokedAt')} is null
        and ${ofSession(sid)}`
      return `with revoked as (update ${authorization.name}
          set ${authorization.column('revokedAt')} = now(), ${authorization.column('revocationCause')} = $3
          where ${living}${all ? '' : ` and not ${outlives}`} returning ${whose})
        select "client", "sid", "since" from (
          select client, sid, extract(epoch from max(made))::float8 as "since",
            row_number() over (partition by client order by max(made) desc) as place
          from (select * from revoked${all ? '' : ` union all select ${whose} from ${authorization.name} where ${living} and ${outlives}`}) held
          group by client, sid) youngest
        where place <= ${MOST_SIDS}`
    }),
  }
}

const everything = ending('', () => '$2::text is null', true)
const one = ending('-one', (sid) => `(${sid}) = $2`)
/** Without a $2, of all sessions; what came from no session stays. */
const others = ending('-others', (sid) => `(${sid}) <> coalesce($2::text, '')`)

export const statements = {
  ...everything,
  deleteSession: one.deleteSessions,
  deletePendingOne: one.deletePending,
  deleteCodesOfOne: one.deleteCodes,
  revokeAuthorizationsOfOne: one.revokeAuthorizations,
  deleteOtherSessions: others.deleteSessions,
  deleteOtherPending: others.deletePending,
  deleteOtherCodes: others.deleteCodes,
  revokeOtherAuthorizations: others.revokeAuthorizations,
}

/**
 * Ends everything of the user, in the transaction of `query`; returns from whom. `cause` is for people who ask later. So
 * that nothing begins meanwhile, the user's own row must have changed before.
 */
export async function endEverything(
  query: Query,
  userId: string,
  cause: string,
): Promise<readonly EndedClient[]> {
  await forgetBrowsers(query, userId)
  return (await end(query, everything, userId, cause, null)).clients
}

/**
 * Makes strangers of all browsers that the user has signed in from. By the clock of the processes, which write down when a
 * browser signed in, unless the two differ by more than ten seconds; before sessions are ended, as whoever changes the user's row comes to them from there.
 */
export async function forgetBrowsers(query: Query, userId: string): Promise<void> {
  await query(knownBrowsers.forgetBrowsers, [userId, new Date()])
}

/** What came of it: whether there were any sessions, and the clients that had something of them or had been signed in to. */
export interface SessionsEnded {
  readonly ended: boolean
  readonly clients: readonly EndedClient[]
}

/** Ends one session of the user, with what it gave. */
export async function endSession(
  query: Query,
  userId: string,
  cause: string,
  sid: string,
): Promise<SessionsEnded> {
  return end(query, one, userId, cause, sid)
}

/** Ends all sessions but `kept`, with what they gave, also those that had ended by themselves. */
export async function endSessions(
  query: Query,
  userId: string,
  cause: string,
  kept: string | null,
): Promise<SessionsEnded> {
  return end(query, others, userId, cause, kept)
}

/**
 * Codes come before Authorizations: an exchange under way has then either stored its Authorization, which is seen
 * here, or finds its code gone.
 */
async function end(
  query: Query,
  { deleteSessions, deletePending, deleteCodes, revokeAuthorizations }: Ending,
  userId: string,
  cause: string,
  sid: string | null,
): Promise<SessionsEnded> {
  const sessions = await query(deleteSessions, [userId, sid])
  const pending = await query(deletePending, [userId, sid])
  await query(deleteCodes, [userId, sid])
  const holders = await holdersOf(query, await query(revokeAuthorizations, [userId, sid, cause]))
  return { ended: sessions.length + pending.length > 0, clients: merge(holders, sessions) }
}

/** Whom something is taken from, and whoever else the sessions had signed in to, as their own sessions go on until they are told. */
function merge(holders: readonly EndedClient[], sessions: readonly EndedSession[]): readonly EndedClient[] {
  const sids = new Map(holders.map((holder) => [holder.client, new Set(holder.sids)]))
  for (const { sid, clients } of sessions)
    for (const client of clients) {
      const known = sids.get(client) ?? new Set()
      if (known.size < MOST_SIDS) sids.set(client, known.add(sid))
    }
  const merged = [...sids].map(([client, known]) => ({ client, sids: [...known] }))
  return merged.toSorted((a, b) => (a.client < b.client ? -1 : 1))
}
