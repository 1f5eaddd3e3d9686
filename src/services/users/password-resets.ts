/**
 * Links in mails by which people set their password: who forgot it, for an hour, and who is invited, for a week. 256 random bits, stored hashed. Each
 * is bound to the password that it replaces, so that every new one ends all of them, whichever way it came.
 */
import { hash, randomBytes } from 'node:crypto'
import { OAuthError } from '../../protocol/errors.ts'
import { usernameKey } from '../../protocol/username.ts'
import { isUuid } from '../../protocol/uuid.ts'
import type { NewEvent } from '../../events.ts'
import { statements as artifactStatements } from '../../store/artifacts.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { findUserRow, statements, type UserRow } from '../../store/users.ts'
import type { ArtifactStore } from '../artifact-store.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import type { HashChosen } from './chosen-passwords.ts'
import type { AlsoUsed } from './password-links.ts'
import { endWithPassword, noteChanges, PASSWORD_RESET, type UserChange } from './user-changes.ts'
import { claimAddress, isOfAddress } from './verified-address.ts'
import { emailKeyOf, toUser, type User } from './user.ts'

export interface PasswordResets {
  /**
   * The token of a link for the user; null for who is not there or may not sign in. `back` is where they came from, or `''`; `to` the verified
   * address that it goes to: it ends when that is not theirs any more.
   */
  make(userId: string, back: string, to?: string): Promise<string | null>
  /**
   * The token of a link to the address that the user has, which it confirms; null for who is not there, may not sign in or has none, and for whose
   * password is not that of `options.replaces`.
   */
  invite(userId: string, options?: InviteOptions): Promise<Invitation | null>
  /** Another for every password of the user, for `invite`; null for who is not there. */
  passwordMarkOf(userId: string): Promise<string | null>
  /** When the invitation ends that is good now, in milliseconds since the epoch; null for none. */
  invitedUntil(userId: string): Promise<number | null>
  /** Ends the user's invitations; false where there was none. */
  withdraw(userId: string): Promise<boolean>
  /** Whose link it is; null where it is not good now. */
  find(token: string): Promise<{ readonly user: User; readonly back: string } | null>
  /**
   * Sets the password, uses the link up and ends everything of the user; an invitation confirms their address. Throws `access_denied` for a link
   * that is not good, or whose address somebody else has confirmed meanwhile, and `invalid_request` that names `password`; the link stays good
   * then. `also` is stored with it.
   */
  setPassword(token: string, password: string, also?: AlsoUsed): Promise<User>
}

export interface Invitation {
  readonly token: string
}

export interface InviteOptions {
  /** The mark of the password that the user had when they were found to be in want of one. */
  readonly replaces?: string
  /** What is stored with it. */
  also?(query: Query, invitation: Invitation): Promise<unknown>
}

/** What a link is, and what is told of it. */
interface NewLink {
  readonly of: Pick<Stored, 'back' | 'to' | 'confirms'>
  /** Seconds. */
  readonly lifetime: number
  readonly event: NewEvent
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
  changeUser: UserChange
  box: SecretBox
  artifacts: ArtifactStore['artifacts']
  hashChosen: HashChosen
}

/** @internal */
export function createPasswordResets(options: PasswordResetsOptions): PasswordResets {
  const { database, audit, changeUser, box, hashChosen } = options
  const links = options.artifacts<Stored>(PASSWORD_RESET, { lifetime: RESET_LIFETIME, ofUsers: true })

  async function findRow(token: string): Promise<{ row: UserRow; back: string } | null> {
    const stored = await links.get(token)
    const row = stored === null ? null : await findUserRow(database, stored.user)
    if (stored === null || row === null || !isGood(stored, row)) return null
    return (await isTaken(stored, row)) ? null : { row, back: stored.back }
  }

  /** Whether an invitation went to an address that another account has confirmed since: it confirms nothing then. */
  async function isTaken(
    { confirms }: Stored,
    { id }: UserRow,
    query: Query = database.query,
  ): Promise<boolean> {
    const key = confirms === undefined ? null : usernameKey(confirms)
    if (key === null) return false
    const rows = await query(statements.byEmail, [key])
    return rows.some((one) => one.id !== id && emailKeyOf(one) === key)
  }

  /** Those that are good now. */
  async function invitationsOf(row: UserRow, query: Query = database.query) {
    const listed = await query(artifactStatements.list, [row.id, PASSWORD_RESET, '', MOST])
    const good = listed.filter(({ value }) => isInvitation(value, row))
    const [first] = good
    // All went to the address that they have.
    return first !== undefined && (await isTaken(first.value as unknown as Stored, row, query)) ? [] : good
  }

  /** Null for who may not sign in, and of whom `linkFor` makes none. */
  async function put(
    userId: string,
    linkFor: (row: UserRow) => NewLink | null,
    also?: InviteOptions['also'],
  ): Promise<string | null> {
    if (!isUuid(userId)) return null
    const token = randomBytes(32).toString('base64url')
    return audit.transaction(async (query, note) => {
      const [row] = await query(statements.lockById, [userId])
      const link = row === undefined || row.disabledAt ? null : linkFor(row)
      if (row === undefined || link === null) return null
      const stored: Stored = { user: row.id, replaces: passwordMark(row), ...link.of }
      const values = [PASSWORD_RESET, box.hash(token), stored, link.lifetime, row.id, MOST]
      await query(artifactStatements.putOfUser, values)
      note(link.event)
      await also?.(query, { token })
      return token
    })
  }

  return {
    async invite(userId, { replaces, also } = {}) {
      const linkFor = (row: UserRow): NewLink | null => {
        const { email } = row.claims
        if (typeof email !== 'string' || (replaces ?? passwordMark(row)) !== passwordMark(row)) return null
        const event = { type: 'user.invited', user: row.id, details: {} } as const
        return { of: { back: '', confirms: email }, lifetime: INVITATION_LIFETIME, event }
      }
      const token = await put(userId, linkFor, also)
      return token === null ? null : { token }
    },
    async passwordMarkOf(userId) {
      const row = await findUserRow(database, userId)
      return row === null ? null : passwordMark(row)
    },
    async invitedUntil(userId) {
      const row = await findUserRow(database, userId)
      const ends = row === null ? [] : (await invitationsOf(row)).map(({ expiresAt }) => expiresAt.getTime())
      return ends.length === 0 ? null : Math.max(...ends)
    },
    async withdraw(userId) {
      if (!isUuid(userId)) return false
      return audit.transaction(async (query, note) => {
        const [row] = await query(statements.lockById, [userId])
        const hashes = row === undefined ? [] : (await invitationsOf(row, query)).map(({ hash: one }) => one)
        const ended = await query(artifactStatements.delete, [PASSWORD_RESET, hashes])
        if (ended.length > 0) note({ type: 'user.invitation_withdrawn', user: userId, details: {} })
        return ended.length > 0
      })
    },
    async make(userId, back, to) {
      const expires = Math.floor(Date.now() / 1000) + RESET_LIFETIME
      return put(userId, ({ id: user }) => ({
        of: { back, ...(to === undefined ? {} : { to }) },
        lifetime: RESET_LIFETIME,
        event: { type: 'user.password_link_made', user, details: { expires } },
      }))
    },
    async find(token) {
      const found = await findRow(token)
      return found && { user: toUser(found.row), back: found.back }
    },
    async setPassword(token, password, also) {
      // Before anything else is said, and as hashing is dear: not for strangers.
      const found = await findRow(token)
      if (found === null) throw spent()
      const { username, roles } = found.row
      const hashed = await hashChosen(password, { username, roles, inPerson: true })
      const set = changeUser(async (query, note) => {
        const [locked] = await query(statements.lockById, [found.row.id])
        const [used] = await query(artifactStatements.spend, [PASSWORD_RESET, box.hashes(token)])
        const stored = used?.value as unknown as Stored | undefined
        if (locked === undefined || stored === undefined || !isGood(stored, locked)) throw spent()
        const claims = stored.confirms === undefined ? {} : { email_verified: true }
        const [changed] = await query(statements.update, [locked.id, claims, null, hashed])
        await claimAddress(query, changed!, claims)
        noteChanges(note, locked, changed!)
        await endWithPassword(query, note, locked.id)
        await also?.(query, locked.id)
        return changed!
      })
      const row = await set.catch((error: unknown) => {
        throw isOfAddress(error) ? spent() : error
      })
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
