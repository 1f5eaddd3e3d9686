/** Browser sessions: a row each, opened by 256 random bits that only the cookie holds. */
import { hash, randomBytes, randomUUID } from 'node:crypto'
import type { Session } from '../doors.ts'
import type { Database } from '../store/database.ts'
import { endEverything } from '../store/endings.ts'
import { statements } from '../store/sessions.ts'

export interface SignIn {
  userId: string
  /** RFC 8176. */
  amr: readonly string[]
  acr?: string
  /** Of the browser, for its owner to recognise it by. */
  userAgent?: string | undefined
  address?: string
}

export interface Sessions {
  /** Null when it has ended, or its user was disabled. */
  find(token: string): Promise<Session | null>
  /** Starts a session and ends the one of `former`, so that nobody who knew that one is signed in with this. */
  start(signIn: SignIn, former?: string): Promise<{ token: string; session: Session }>
  /** Ends it, with what it gave and `offline_access` does not keep (OpenID Connect Core §11). */
  end(session: Session): Promise<void>
}

/** Milliseconds between two notes of when a session was last used. */
const TOUCH_EVERY = 60_000
const MAX_USER_AGENT = 512

/** `idle` and `expire` in seconds. */
export function createSessions(database: Database, idle: number, expire: number): Sessions {
  const touchEvery = Math.min(TOUCH_EVERY, (idle * 1000) / 4)

  return {
    async find(token) {
      const hashed = hashSession(token)
      const [row] = await database.query(statements.find, [hashed])
      if (row === undefined) return null
      const { sid, userId, amr, acr = null } = row
      if (Date.now() - row.lastSeenAt.getTime() > touchEvery)
        await database.query(statements.touch, [hashed, idle])
      return { sid, userId, amr, acr, authenticatedAt: row.authenticatedAt.getTime() }
    },
    async start({ userId, amr, acr, userAgent, address }, former) {
      const token = randomBytes(32).toString('base64url')
      const session = { sid: randomUUID(), userId, amr, acr: acr ?? null, authenticatedAt: Date.now() }
      const browser = [userAgent?.slice(0, MAX_USER_AGENT).replaceAll('\0', '') ?? null, address ?? null]
      await database.query(statements.replace, [
        hashSession(token), session.sid, userId, new Date(session.authenticatedAt), [...amr], session.acr,
        ...browser, idle, expire, former === undefined ? null : hashSession(former),
      ]) // prettier-ignore
      return { token, session }
    },
    end: ({ userId, sid }) =>
      database.transaction(async (query) => endEverything(query, userId, 'signed out', sid)),
  }
}

function hashSession(token: string): string {
  return hash('sha256', token, 'base64url')
}
