/**
 * Links in mails by which people set their password: who forgot it, for an hour, and who is invited, for a week. 256 random bits, stored hashed. Each
 * is bound to the password that it replaces, so that every new one ends all of them, whichever way it came.
 */
import { hash } from 'node:crypto'
import { changesBetween } from '../../protocol/changes.ts'
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
import { endWithPassword, membersOf, PASSWORD_RESET } from './user-changes.ts'
import { claimAddress, isOfAddress } from './verified-address.ts'
import { emailKeyOf, toUser, type User } from './user.ts'

export interface PasswordResets {
  /**
   * The token of a link for the user; null for who is not there or may not sign in. `back` is where they came from, or `''`; `to` the verified
   * address that it goes to: it ends when that is not theirs any more.
   */
  make(userId: string, back: string, to?: string): Promise<string | null>
  /** The token of a link to the address that the user has, which it confirms; null for who is not there, may not sign in or has none. */
  invite(userId: string): Promise<Invitation | null>
  /** When the invitation ends that is good now, in milliseconds since the epoch; null for none. */
  invitedUntil(userId: string): Promise<number | null>
  /** Ends the user's invitations; false where there was none. */
  withdraw(userId: string): Promise<boolean>
  /** Whose link it is; null where it is not good now. */
  find(token: string): Promise<{ readonly user: User; readonly back: string } | null>
  /**
   * Sets the password, uses the link up and ends everything of the user; an invitation confirms their address. Throws `access_denied` for a link
   * that is not good, or whose address somebody else has confirmed meanwhile, and `invalid_request` that names `password`; the link stays good
   * then.
   */
  setPassword(token: string, password: string): Promise<User>
}

export interface Invitation {
  readonly token: string
  readonly email: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

interface Stored {
  readonly user: string
  /** Of the hash of the password that it replaces. */
  readonly replaces: string
  readonly back: string
  /** The address to which it went that they had verified. */
  readonly to?: string
  /** The address to which an invitation went. */
  readonly confirms?: string
}

/** Seconds. */
const RESET_LIFETIME = 3600
/** Seconds. */
const INVITATION_LIFETIME = 7 * 86_400
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
  const links = options.artifacts<Stored>(PASSWORD_RESET, { lifetime: RESET_LIFETIME, ofUsers: true })

  async function findRow(token: string): Promise<{ row: UserRow; back: string } | null> {
    const stored = await links.get(token)
    const row = stored === null ? null : await findUserRow(database, stored.user)
    if (stored === null || row === null || !isGood(stored, row)) return null
    return (await isTaken(stored, row)) ? null : { row, back: stored.back }
  }

  /** Whether an invitation went to an address that another account has confirmed since: it confirms nothing then. */
  async function isTaken({ confirms }: Stored, { id }: UserRow): Promise<boolean> {
    const key = confirms === undefined ? null : usernameKey(confirms)
    if (key === null) return false
    const rows = await database.query(statements.byEmail, [key])
    return rows.some((one) => one.id !== id && emailKeyOf(one) === key)
  }

  /** Those that are good now. */
  async function invitationsOf(
    userId: string,
  ): Promise<readonly { readonly id: string; readonly expiresAt: number }[]> {
    const row = await findUserRow(database, userId)
    if (row === null) return []
    const listed = await links.list(userId)
    const good = listed.filter(({ value }) => isInvitation(value, row))
    const [first] = good
    // All went to the address that they have.
    return first !== undefined && (await isTaken(first.value, row)) ? [] : good
  }

  return {
    async invite(userId) {
      const row = await findUserRow(database, userId)
      const email = row?.claims['email']
      if (row === null || row.disabledAt || typeof email !== 'string') return null
      const stored = { user: row.id, replaces: passwordMark(row), back: '', confirms: email }
      const expiresAt = Date.now() + INVITATION_LIFETIME * 1000
      const token = await links.put(stored, { owner: row.id, most: MOST, lifetime: INVITATION_LIFETIME })
      return token === false ? null : { token, email, expiresAt }
    },
    async invitedUntil(userId) {
      const ends = (await invitationsOf(userId)).map(({ expiresAt }) => expiresAt)
      return ends.length === 0 ? null : Math.max(...ends)
    },
    async withdraw(userId) {
      const ended = await Promise.all(
        (await invitationsOf(userId)).map(async ({ id }) => links.delete({ id })),
      )
      return ended.includes(true)
    },
    async make(userId, back, to) {
      const row = await findUserRow(database, userId)
      if (row === null || row.disabledAt) return null
      const stored = { user: row.id, replaces: passwordMark(row), back, ...(to === undefined ? {} : { to }) }
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
      const hashed = await hashChosen(password, { username, roles, inPerson: true })
      const set = audit.transaction(async (query, note) => {
        const [locked] = await query(statements.lockById, [found.row.id])
        const [used] = await query(artifactStatements.spend, [PASSWORD_RESET, box.hashes(token)])
        const stored = used?.value as unknown as Stored | undefined
        if (locked === undefined || stored === undefined || !isGood(stored, locked)) throw spent()
        const claims = stored.confirms === undefined ? {} : { email_verified: true }
        const [changed] = await query(statements.update, [locked.id, claims, null, hashed])
        await claimAddress(query, changed!, claims)
        const changes = changesBetween(membersOf(locked), membersOf(changed!))
        if (Object.keys(changes).length > 0)
          note({ type: 'user.changed', user: locked.id, details: { changes } })
        await endWithPassword(query, note, locked.id)
        await recordChange(query, 'user', locked.id)
        return changed!
      })
      const row = await set.catch((error: unknown) => {
        throw isOfAddress(error) ? spent() : error
      })
      await feed.announce('user', row.id)
      return toUser(row)
    },
  }
}

function isGood({ user, replaces, to, confirms }: Stored, row: UserRow): boolean {
  const { email, email_verified: isVerified } = row.claims
  const isTheirs =
    (to === undefined || (email === to && isVerified === true)) &&
    (confirms === undefined || email === confirms)
  return row.id === user && !row.disabledAt && replaces === passwordMark(row) && isTheirs
}

/**
 * Whether what is stored of a link is a good invitation of the user, but for an address that another account has confirmed since.
 * @internal
 */
export function isInvitation(stored: object, row: UserRow): boolean {
  return (stored as Stored).confirms !== undefined && isGood(stored as Stored, row)
}

/**
 * Another for every password, however often the same was chosen. Says nothing of it, nor of its hash: that has a salt of 128 bits.
 * @internal
 */
export function passwordMark({ passwordHash }: Pick<UserRow, 'passwordHash'>): string {
  return hash('sha256', `replaced password\0${passwordHash ?? ''}`, 'base64url')
}

function spent(): OAuthError {
  return new OAuthError(
    'access_denied',
    'this link has been used, is too old, or there is a new password already',
  )
}
