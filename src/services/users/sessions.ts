/** Browser sessions: a row each, opened by 256 random bits that only the cookie holds. */
import { randomUUID } from 'node:crypto'
import type { Factors } from '../../doors/assurance.ts'
import type { Session } from '../../doors/interaction.ts'
import type { EndedClient } from '../../events.ts'
import { hashOf } from '../../protocol/handle.ts'
import { recordChange } from '../../store/changes.ts'
import type { Database } from '../../store/database.ts'
import { endSession, endSessions, forgetBrowsers } from '../../store/endings.ts'
import { type ListedPendingRow, statements as pendingStatements } from '../../store/pending-sessions.ts'
import { isDuplicate } from '../../store/failures.ts'
import { statements, type ListedSessionRow } from '../../store/sessions.ts'
import type { Query } from '../../store/statement.ts'
import { isUuid } from '../../protocol/uuid.ts'
import type { AuditTrail } from '../audit/audit.ts'
import {
  type Beginning,
  type Lasting,
  newToken,
  openSession,
  type SignIn,
  Spent,
  spendOnce,
} from './session-beginnings.ts'

export interface Sessions {
  /** Null when it has ended, or its user was disabled. */
  find(token: string): Promise<Session | null>
  /**
   * Whether the session that an approval came from goes on. For what was approved and not fetched yet: sign-out, a new
   * password and disabling end it.
   */
  isOpen(sid: string): Promise<boolean>
  /**
   * Signs in: by a new token always, so that nobody who knew `former` is signed in too. That one's session goes on
   * when it was the same user's, and ends otherwise, as `end` does. Null for a user who was disabled or changed meanwhile, and
   * where the new token, if one is given, is another session's already, or what it begins by has led to one.
   */
  start(
    signIn: SignIn,
    former?: string,
    beginning?: Beginning,
  ): Promise<{ token: string; session: Session } | null>
  /** The factors that it has from now on, under the token `next`, as privileges rise; null when it has ended. */
  raise(
    token: string,
    session: Session,
    factors: Factors,
    next: string,
  ): Promise<{ token: string; session: Session } | null>
  /** Ends it, with what it gave and `offline_access` does not keep (OpenID Connect Core §11). Returns who had something of it. */
  end(session: Session): Promise<readonly EndedClient[]>
  /** Those of a user that last, the last used first; then sign-ins that are pending. */
  list(userId: string): Promise<SessionInformation[]>
  /**
   * Ends one of this user's, as `end` does; false where they have none of this `sid`. Whoever does it elsewhere may not
   * trust that browser any more, so none of theirs is known by its mark (`known-browsers.ts`) from now on.
   */
  endOne(userId: string, sid: string): Promise<boolean>
  /** Ends all of this user's, as `endOne` does, or all but the one of `except`. */
  endAll(userId: string, options?: { except?: string }): Promise<void>
}

/** A session, for people to recognise it by; instants are milliseconds since the epoch. */
export interface SessionInformation {
  readonly sid: string
  readonly userAgent: string | null
  readonly address: string | null
  readonly createdAt: number
  /** To the minute. */
  readonly lastSeenAt: number
  readonly authenticatedAt: number
  /** RFC 8176. */
  readonly amr: readonly string[]
  /** The `client_id`s of those that it has signed in to, and whose access was not taken back since. */
  readonly clients: readonly string[]
  /** At the latest. */
  readonly endsAt: number
  /** Whether the sign-in still lacks a factor: it opens nothing. */
  readonly pending: boolean
}

/** Milliseconds between two notes of when a session was last used. */
const TOUCH_EVERY = 60_000

/** @internal */
export function createSessions(database: Database, audit: AuditTrail, lasting: Lasting): Sessions {
  const { idle } = lasting
  const touchEvery = Math.min(TOUCH_EVERY, (idle * 1000) / 4)

  return {
    isOpen: async (sid) => (await database.query(statements.isOpen, [sid])).length > 0,
    async find(token) {
      const hashed = hashOf(token)
      const [row] = await database.query(statements.find, [hashed])
      if (row === undefined) return null
      const { sid, userId, amr, acr = null } = row
      if (Date.now() - row.lastSeenAt.getTime() > touchEvery)
        await database.query(statements.touch, [hashed, idle])
      return { sid, userId, amr, acr, authenticatedAt: row.authenticatedAt.getTime() }
    },
    async start(signIn, former, { token = newToken(), once } = {}) {
      const opening = { signIn, token, former, sid: randomUUID(), lasting }
      try {
        return await audit.transaction(async (query, note) => {
          const started = await openSession(query, note, opening)
          if (started !== null) await spendOnce(query, once)
          return started
        })
      } catch (error) {
        if (error instanceof Spent || isDuplicate(error)) return null
        throw error
      }
    },
    async raise(token, session, { amr, acr }, raised) {
      return audit.transaction(async (query, note) => {
        const values = [hashOf(token), hashOf(raised), [...amr], acr]
        if ((await query(statements.raise, values)).length === 0) return null
        const { userId, sid, authenticatedAt } = session
        note({ type: 'user.signed_in', user: userId, details: { sid, amr: [...amr] } })
        return { token: raised, session: { sid, userId, authenticatedAt, amr, acr } }
      })
    },
    end: ({ userId, sid }) =>
      audit.transaction(async (query, note) => {
        const { clients } = await endSession(query, userId, 'signed out', sid)
        note({ type: 'user.signed_out', user: userId, details: { sid, clients } })
        return clients
      }),
    async list(userId) {
      if (!isUuid(userId)) return []
      const [open, pending] = [
        await database.query(statements.listByUser, [userId]),
        await database.query(pendingStatements.listByUser, [userId]),
      ]
      return [...open.map(toInformation), ...pending.map(toPendingInformation)]
    },
    async endOne(userId, sid) {
      if (!isUuid(userId)) return false
      return audit.transaction(async (query, note) => {
        if ((await query(statements.isOfUser, [userId, sid])).length > 0) await begunBeforeEnds(query, userId)
        const { ended, clients } = await endSession(query, userId, 'session ended', sid)
        if (ended) note({ type: 'session.ended', user: userId, details: { sid, clients } })
        return ended
      })
    },
    async endAll(userId, { except } = {}) {
      if (!isUuid(userId)) return
      await audit.transaction(async (query, note) => {
        await begunBeforeEnds(query, userId)
        const { clients } = await endSessions(query, userId, 'session ended', except ?? null)
        const details = { ...(except === undefined ? {} : { except }), clients }
        note({ type: 'session.ended', user: userId, details })
      })
    },
  }
}

/** What was begun for the user is good for nothing any more, at every process. */
async function begunBeforeEnds(query: Query, userId: string): Promise<void> {
  await forgetBrowsers(query, userId)
  await recordChange(query, 'user', userId)
}

function toInformation({ userAgent = null, address = null, ...row }: ListedSessionRow): SessionInformation {
  return {
    sid: row.sid,
    userAgent,
    address,
    amr: row.amr,
    clients: Object.keys(row.clients),
    createdAt: row.createdAt.getTime(),
    lastSeenAt: row.lastSeenAt.getTime(),
    authenticatedAt: row.authenticatedAt.getTime(),
    endsAt: row.endsAt.getTime(),
    pending: false,
  }
}

function toPendingInformation({ expiresAt, ...row }: ListedPendingRow): SessionInformation {
  return {
    ...toInformation({ ...row, clients: {}, lastSeenAt: row.createdAt, endsAt: expiresAt }),
    pending: true,
  }
}
