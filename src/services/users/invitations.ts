/**
 * Invitations: a link in a mail by which people who were registered choose their password, for a week, and which confirms the address that it went to.
 * What it is stored as, and when it is good, is in `mailed-links.ts`; it is taken as any link for a new password (`password-resets.ts`).
 */
import { isUuid } from '../../protocol/uuid.ts'
import { statements as artifacts } from '../../store/artifacts.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { findUserRow, statements, type UserRow } from '../../store/users.ts'
import type { AuditTrail } from '../audit/audit.ts'
import { PASSWORD_RESET } from './mailed-link-ends.ts'
import { isGood, MOST, type MailedLinks, type NewLink, type StoredLink } from './mailed-links.ts'
import { passwordMark } from './password-mark.ts'

export interface Invitations {
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

/** Seconds. */
const LIFETIME = 7 * 86_400

/** @internal */
export interface InvitationsOptions {
  database: Database
  audit: AuditTrail
  links: MailedLinks
}

/** @internal */
export function createInvitations({ database, audit, links }: InvitationsOptions): Invitations {
  /** Those that are good now. */
  async function invitationsOf(row: UserRow, query: Query = database.query) {
    const listed = await query(artifacts.list, [row.id, PASSWORD_RESET, '', MOST])
    const good = listed.filter(({ value }) => isInvitation(value, row))
    const [first] = good
    // All went to the address that they have.
    const isTaken =
      first !== undefined && (await links.isTaken(first.value as unknown as StoredLink, row, query))
    return isTaken ? [] : good
  }

  return {
    async invite(userId, { replaces, also } = {}) {
      const linkFor = (row: UserRow): NewLink | null => {
        const { email } = row.claims
        if (typeof email !== 'string' || (replaces ?? passwordMark(row)) !== passwordMark(row)) return null
        const event = { type: 'user.invited', user: row.id, details: {} } as const
        return { of: { back: '', confirms: email }, lifetime: LIFETIME, event }
      }
      const token = await links.put(userId, linkFor, async (query, made) => also?.(query, { token: made }))
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
        const hashes = row === undefined ? [] : (await invitationsOf(row, query)).map(({ hash }) => hash)
        const ended = await query(artifacts.delete, [PASSWORD_RESET, hashes])
        if (ended.length > 0) note({ type: 'user.invitation_withdrawn', user: userId, details: {} })
        return ended.length > 0
      })
    },
  }
}

/**
 * Whether what is stored of a link is a good invitation of the user, but for an address that another account has confirmed since.
 * @internal
 */
export function isInvitation(stored: object, row: UserRow): boolean {
  return (stored as StoredLink).confirms !== undefined && isGood(stored as StoredLink, row)
}
