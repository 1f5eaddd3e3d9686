/** Browser sessions: a row each, opened by 256 random bits that only the cookie holds. */
import { hash, randomBytes, randomUUID } from 'node:crypto'
import type { Factors } from '../../doors/assurance.ts'
import type { Session } from '../../doors/interaction.ts'
import type { EndedClient } from '../../events.ts'
import type { Database } from '../../store/database.ts'
import { endSession, endSessions, forgetBrowsers } from '../../store/endings.ts'
import { type ListedPendingRow, statements as pendingStatements } from '../../store/pending-sessions.ts'
import { isDuplicate } from '../../store/failures.ts'
import { statements, type ListedSessionRow } from '../../store/sessions.ts'
import type { Query } from '../../store/statement.ts'
import { isUuid } from '../../protocol/uuid.ts'
import type { AuditTrail, Note } from '../audit/audit.ts'
import type { User } from './user.ts'

export interface SignIn {
  /** As they were when they proved who they are. */
  user: Pick<User, 'id' | 'updatedAt'>
  /** RFC 8176. */
  amr: readonly string[]
  acr?: string
  /** Of the browser, for its owner to recognise it by. */
  userAgent?: string | undefined
  address?: string
  /** The account has not signed in with it before, as far as is known; said where somebody wants to know. */
  newBrowser?: boolean
  /** Milliseconds since the epoch; now where it is not said. */
  authenticatedAt?: number
}

/**
 * Seconds that a session lasts unused, and at most.
 * @internal
 */
export interface Lasting {
  readonly idle: number
  readonly expire: number
}

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
   * where `next`, the new token if it is given, is another session's already.
   */
  start(signIn: SignIn, former?: string, next?: string): Promise<{ token: string; session: Session } | null>
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
const MAX_USER_AGENT = 512

/** @internal */
export function createSessions(database: Database, audit: AuditTrail, lasting: Lasting): Sessions {
  const { idle } = lasting
  const touchEvery = Math.min(TOUCH_EVERY, (idle * 1000) / 4)

  return {
    isOpen: async (sid) => (await database.query(statements.isOpen, [sid])).length > 0,
    async find(token) {
      const hashed = hashSession(token)
      const [row] = await database.query(statements.find, [hashed])
      if (row === undefined) return null
      const { sid, userId, amr, acr = null } = row
      if (Date.now() - row.lastSeenAt.getTime() > touchEvery)
        await database.query(statements.touch, [hashed, idle])
      return { sid, userId, amr, acr, authenticatedAt: row.authenticatedAt.getTime() }
    },
    async start(signIn, former, next = newToken()) {
      const opening = { signIn, token: next, former, sid: randomUUID(), lasting }
      try {
        return await audit.transaction(async (query, note) => openSession(query, note, opening))
      } catch (error) {
        if (isDuplicate(error)) return null
        throw error
      }
    },
    async raise(token, session, { amr, acr }, raised) {
      return audit.transaction(async (query, note) => {
        const values = [hashSession(token), hashSession(raised), [...amr], acr]
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
        if ((await query(statements.isOfUser, [userId, sid])).length > 0) await forgetBrowsers(query, userId)
        const { ended, clients } = await endSession(query, userId, 'session ended', sid)
        if (ended) note({ type: 'session.ended', user: userId, details: { sid, clients } })
        return ended
      })
    },
    async endAll(userId, { except } = {}) {
      if (!isUuid(userId)) return
      await audit.transaction(async (query, note) => {
        await forgetBrowsers(query, userId)
        const { clients } = await endSessions(query, userId, 'session ended', except ?? null)
        const details = { ...(except === undefined ? {} : { except }), clients }
        note({ type: 'session.ended', user: userId, details })
      })
    },
  }
}

/** Of a browser that goes on as somebody else; the clients that had something of it are told as of any other end. */
async function endFormer(query: Query, note: Note, hashed: string): Promise<void> {
  const [former] = await query(statements.ofCookie, [hashed])
  if (former === undefined) return
  const { userId, sid } = former
  const { clients } = await endSession(query, userId, 'session ended', sid)
  note({ type: 'session.ended', user: userId, details: { sid, clients } })
}

interface Opening {
  readonly signIn: SignIn
  /** 256 random bits, from here on its cookie's. */
  readonly token: string
  readonly former?: string | undefined
  readonly sid: string
  readonly lasting: Lasting
}

/**
 * Renews the session of the token `former` where it is the same user's, or opens one as `sid`, in the transaction of `query`. Null for a
 * user who was disabled or changed meanwhile.
 * @internal
 */
export async function openSession(
  query: Query,
  note: Note,
  { signIn, token, former, sid, lasting }: Opening,
): Promise<{ token: string; session: Session } | null> {
  const { user, amr, acr = null, authenticatedAt = Date.now() } = signIn
  const values = [...beginningOf({ ...signIn, authenticatedAt }, token, former), lasting.idle, lasting.expire]
  const [renewed] = former === undefined ? [] : await query(statements.renew, values)
  if (renewed === undefined && former !== undefined) await endFormer(query, note, hashSession(former))
  const started = [...values, sid, new Date(user.updatedAt)]
  const [opened] = renewed ? [renewed] : await query(statements.start, started)
  if (opened === undefined) return null
  const details = {
    sid: opened.sid,
    amr: [...amr],
    ...(signIn.newBrowser ? { newBrowser: true as const } : {}),
  }
  note({ type: 'user.signed_in', user: user.id, details })
  return { token, session: { sid: opened.sid, userId: user.id, amr, acr, authenticatedAt } }
}

/**
 * The values that begin a session, pending or not, as their statements have them from $1 to $8: last by which its owner recognises it,
 * the browser and its address.
 * @internal
 */
export function beginningOf(signIn: SignIn, token: string, former: string | undefined): readonly unknown[] {
  const { user, amr, acr = null, authenticatedAt = Date.now(), userAgent, address = null } = signIn
  const browser = userAgent?.slice(0, MAX_USER_AGENT).replaceAll('\0', '') ?? null
  const hashes = [hashSession(token), former === undefined ? null : hashSession(former)]
  return [...hashes, user.id, new Date(authenticatedAt), [...amr], acr, browser, address]
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

/** 256 random bits, base64url. */
function newToken(): string {
  return randomBytes(32).toString('base64url')
}

function hashSession(token: string): string {
  return hash('sha256', token, 'base64url')
}
