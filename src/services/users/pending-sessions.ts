/**
 * Sign-ins that still lack a factor: a few of each user, for a quarter of an hour. Each rise is a new cookie, and the last one makes a
 * session of it; nobody but the steps of a sign-in asks for them.
 */
import { randomUUID } from 'node:crypto'
import type { Factors } from '../../doors/assurance.ts'
import type { Session } from '../../doors/interaction.ts'
import { statements } from '../../store/pending-sessions.ts'
import { hashOf } from '../../protocol/handle.ts'
import type { Database } from '../../store/database.ts'
import { isDuplicate } from '../../store/failures.ts'
import type { AuditTrail } from '../audit/audit.ts'
import {
  type Beginning,
  beginningOf,
  type Lasting,
  newToken,
  openSession,
  type SignIn,
  Spent,
  spendOnce,
} from './session-beginnings.ts'

export interface PendingSessions {
  /**
   * Begins one in the place of what the browser had as `former`. Null for a user who was disabled or changed meanwhile, and where there is one
   * under its token, or what it begins by has led to one.
   */
  begin(signIn: SignIn, former?: string, beginning?: Beginning): Promise<Started | null>
  /** Null when it has ended, or its user was disabled or changed. */
  find(token: string): Promise<Session | null>
  /** The factors that it has from now on, under the token `next`; null when it has ended. */
  raise(token: string, pending: Session, factors: Factors, next: string): Promise<Started | null>
  /**
   * Makes a session of it under the token `next`, or renews the one of `former` where that is the same user's. Null when it has ended:
   * it is spent by one guarded statement.
   */
  complete(
    token: string,
    signIn: Omit<SignIn, 'user'>,
    next: string,
    former?: string,
  ): Promise<Started | null>
  /** Ends it. */
  end(token: string): Promise<void>
}

export interface Started {
  readonly token: string
  readonly session: Session
}

/** Seconds. */
const LIFETIME = 900
/** Of one user: the oldest gives way. */
const MOST = 10

/** @internal */
export function createPendingSessions(
  database: Database,
  audit: AuditTrail,
  lasting: Lasting,
): PendingSessions {
  return {
    async begin(signIn, former, { token = newToken(), once } = {}) {
      const { user, amr, acr = null } = signIn
      const authenticatedAt = Date.now()
      const beginning = audit.transaction(async (query, note) => {
        const [begun] = await query(statements.begin, [
          ...beginningOf({ ...signIn, authenticatedAt }, token, former),
          new Date(user.updatedAt),
          LIFETIME,
          MOST,
          randomUUID(),
        ])
        if (begun !== undefined) await spendOnce(query, once)
        if (begun !== undefined)
          note({ type: 'user.sign_in_pending', user: user.id, details: { sid: begun.sid, amr: [...amr] } })
        return begun
      })
      const row = await beginning.catch((error: unknown) => {
        // The same form led to the same token.
        if (error instanceof Spent || isDuplicate(error)) return undefined
        throw error
      })
      if (row === undefined) return null
      return {
        token,
        session: { sid: row.sid, userId: user.id, amr, acr, authenticatedAt, pending: true },
      }
    },
    async find(token) {
      const [row] = await database.query(statements.find, [hashOf(token)])
      if (row === undefined) return null
      const { sid, userId, amr, acr = null } = row
      return { sid, userId, amr, acr, authenticatedAt: row.authenticatedAt.getTime(), pending: true }
    },
    async raise(token, pending, { amr, acr }, raised) {
      const rows = await database.query(statements.raise, [hashOf(token), hashOf(raised), [...amr], acr])
      return rows.length === 0 ? null : { token: raised, session: { ...pending, amr, acr } }
    },
    async complete(token, factors, next, former) {
      const [row] = await database.query(statements.find, [hashOf(token)])
      if (row === undefined) return null
      const user = { id: row.userId, updatedAt: row.userUpdatedAt.getTime() }
      const authenticatedAt = row.authenticatedAt.getTime()
      const signIn = { ...factors, user, authenticatedAt }
      try {
        return await audit.transaction(async (query, note) => {
          // The user's row first, as who ends all that a user has begins with it.
          const started = await openSession(query, note, {
            signIn,
            former,
            token: next,
            sid: row.sid,
            lasting,
          })
          if (started === null || (await query(statements.take, [hashOf(token)])).length === 0)
            throw new Spent()
          return started
        })
      } catch (error) {
        // The same form led to the same token.
        if (error instanceof Spent || isDuplicate(error)) return null
        throw error
      }
    },
    async end(token) {
      await database.query(statements.take, [hashOf(token)])
    },
  }
}
