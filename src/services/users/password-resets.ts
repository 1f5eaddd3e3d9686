/**
 * Links by which people who forgot their password set a new one: 256 random bits in a mail, stored hashed, for an hour. Each is bound to the
 * password that it replaces, so that every new one ends all of them, whichever way it came.
 */
import { hash } from 'node:crypto'
import { OAuthError } from '../../protocol/errors.ts'
import { usernameKey } from '../../protocol/username.ts'
import { statements as artifactStatements } from '../../store/artifacts.ts'
import { recordChange } from '../../store/changes.ts'
import type { Database } from '../../store/database.ts'
import { findUserRow, statements, type UserRow } from '../../store/users.ts'
import type { ArtifactStore } from '../artifact-store.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import type { HashChosen } from './chosen-passwords.ts'
import { endWithPassword } from './user-changes.ts'
import { toUser, type User } from './user.ts'

export interface PasswordResets {
  /** The token of a link for the user; null for who is not there or may not sign in. `back` is where they came from, or `''`. */
  make(userId: string, back: string): Promise<string | null>
  /** Whose link it is; null where it is not good now. */
  find(token: string): Promise<{ readonly user: User; readonly back: string } | null>
  /**
   * Sets the password, uses the link up and ends everything of the user. Throws `access_denied` for a link that is not good, and
   * `invalid_request` that names `password`; the link stays good then.
   */
  setPassword(token: string, password: string): Promise<User>
}

interface Stored {
  readonly user: string
  /** Of the hash of the password that it replaces. */
  readonly replaces: string
  readonly back: string
}

const KIND = 'password-reset'
/** Seconds. */
export const RESET_LIFETIME = 3600
/** Of one user: who asks once more does not end what is just being read, and who asks for ever fills nothing. */
const MOST = 5

/** @internal */
export interface PasswordResetsOptions {
  database: Database
  audit: AuditTrail
  feed: ChangeFeed
  box: SecretBox
  artifacts: ArtifactStore['artifacts']
  hashChosen: HashChosen
}

/** @internal */
export function createPasswordResets(options: PasswordResetsOptions): PasswordResets {
  const { database, audit, feed, box, hashChosen } = options
  const links = options.artifacts<Stored>(KIND, { lifetime: RESET_LIFETIME, ofUsers: true })

  async function findRow(token: string): Promise<{ row: UserRow; back: string } | null> {
    const stored = await links.get(token)
    const row = stored === null ? null : await findUserRow(database, stored.user)
    return stored !== null && row !== null && isGood(stored, row) ? { row, back: stored.back } : null
  }

  return {
    async make(userId, back) {
      const row = await findUserRow(database, userId)
      if (row === null || row.disabledAt) return null
      const stored = { user: row.id, replaces: passwordMark(row), back }
      const token = await links.put(stored, { owner: row.id, most: MOST })
      const expires = Math.floor(Date.now() / 1000) + RESET_LIFETIME
      if (token !== false)
        audit.observe({ type: 'user.password_link_made', user: row.id, details: { expires } })
      return token === false ? null : token
    },
    async find(token) {
      const found = await findRow(token)
      return found && { user: toUser(found.row), back: found.back }
    },
    async setPassword(token, password) {
      // Before anything else is said, and as hashing is dear: not for strangers.
      const found = await findRow(token)
      if (found === null) throw spent()
      const { username, roles } = found.row
      const hashed = await hashChosen(password, { username, roles })
      const key = usernameKey(username)
      const row = await audit.transaction(async (query, note) => {
        const [locked] = await query(statements.lock, [key])
        const [used] = await query(artifactStatements.spend, [KIND, box.hashes(token)])
        if (locked === undefined || used === undefined || !isGood(used.value as unknown as Stored, locked))
          throw spent()
        const [changed] = await query(statements.update, [key, {}, null, hashed])
        await endWithPassword(query, note, locked.id)
        await recordChange(query, 'user', locked.id)
        return changed!
      })
      await feed.announce('user', row.id)
      return toUser(row)
    },
  }
}

function isGood({ user, replaces }: Stored, row: UserRow): boolean {
  return row.id === user && !row.disabledAt && replaces === passwordMark(row)
}

/**
 * Another for every password, however often the same was chosen. Says nothing of it, nor of its hash: that has a salt of 128 bits.
 * @internal
 */
export function passwordMark({ passwordHash }: UserRow): string {
  return hash('sha256', `replaced password\0${passwordHash ?? ''}`, 'base64url')
}

function spent(): OAuthError {
  return new OAuthError(
    'access_denied',
    'this link has been used, is too old, or there is a new password already',
  )
}
