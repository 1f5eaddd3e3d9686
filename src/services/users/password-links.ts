/**
 * One-time links by which users set their passwords: 256 random bits, stored hashed, one at a time for each user, for a
 * day. Who makes one hands it over; whoever has it is taken for the user.
 */
import { randomBytes } from 'node:crypto'
import { OAuthError } from '../../protocol/errors.ts'
import { hashOf } from '../../protocol/handle.ts'
import { reason } from '../../protocol/message.ts'
import { userError } from '../../protocol/user-members.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/password-links.ts'
import type { Query } from '../../store/statement.ts'
import { isUuid } from '../../protocol/uuid.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { HashChosen } from './chosen-passwords.ts'
import { endWithPassword, type UserChange } from './user-changes.ts'
import { toUser, type User } from './user.ts'

export interface PasswordLinks {
  /**
   * A link for the user, who may sign in; the one before it is no longer good. Throws `invalid_request` for who may not,
   * and for an unknown one. `also` is stored with it.
   */
  make(userId: string, also?: AlsoMade): Promise<PasswordLink>
  /** Whose link it is; null where it is not good now. */
  find(code: string): Promise<User | null>
  /**
   * Sets the password, uses the link up and ends everything of the user. Throws `access_denied` for a link that is not
   * good, and `invalid_request` that names `password`; the link stays good then. `also` is stored with it.
   */
  setPassword(code: string, password: string, also?: AlsoUsed): Promise<User>
}

/** What goes with the use of a link, for the user of this id. */
export type AlsoUsed = (query: Query, user: string) => Promise<unknown>

/** What goes with a link that is made: what it throws is thrown, and none is. */
export type AlsoMade = (query: Query) => Promise<unknown>

export interface PasswordLink {
  readonly address: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/** Seconds. */
const LIFETIME = 86_400

/** @internal */
export interface PasswordLinksOptions {
  database: Database
  audit: AuditTrail
  changeUser: UserChange
  hashChosen: HashChosen
  issuer: string
}

/** @internal */
export function createPasswordLinks(options: PasswordLinksOptions): PasswordLinks {
  const { database, audit, changeUser, hashChosen, issuer } = options

  async function find(code: string): Promise<User | null> {
    const [row] = await database.query(statements.owner, [hashOf(code)])
    return row === undefined ? null : toUser(row)
  }

  return {
    find,
    async make(userId, also) {
      if (!isUuid(userId)) throw userError('user', reason('is not registered'))
      const code = randomBytes(32).toString('base64url')
      const expiresAt = await audit.transaction(async (query, note) => {
        const [row] = await query(statements.put, [userId, hashOf(code), LIFETIME])
        if (row === undefined) throw userError('user', reason('may not sign in'))
        const expires = Math.floor(row.endsAt.getTime() / 1000)
        note({ type: 'user.password_link_made', user: row.id, details: { expires } })
        await also?.(query)
        return row.endsAt.getTime()
      })
      return { address: `${issuer}/set-password?token=${code}`, expiresAt }
    },
    async setPassword(code, password, also) {
      // Before anything else is said, and as hashing is dear: not for strangers.
      const user = await find(code)
      if (user === null) throw spent()
      const hashed = await hashChosen(password, { ...user, inPerson: true })
      const row = await changeUser(async (query, note) => {
        const [changed] = await query(statements.spend, [hashOf(code), hashed])
        if (changed === undefined) throw spent()
        await endWithPassword(query, note, changed.id)
        await also?.(query, changed.id)
        return changed
      })
      return toUser(row)
    },
  }
}

function spent(): OAuthError {
  return new OAuthError('access_denied', 'this link has been used, is too old, or was replaced by another')
}
