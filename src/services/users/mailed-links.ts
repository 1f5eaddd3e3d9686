/**
 * Links in mails by which people set their password: 256 random bits, stored hashed, a few for each user. Each is bound to the password that it
 * replaces, so that every new one ends all of them, whichever way it came. Who is sent one is for `password-resets.ts` and `invitations.ts`.
 */
import { randomBytes } from 'node:crypto'
import type { NewEvent } from '../../events.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { isUuid } from '../../protocol/uuid.ts'
import { statements as artifacts } from '../../store/artifacts.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { findUserRow, statements, type UserRow } from '../../store/users.ts'
import type { ArtifactStore } from '../artifact-store.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { PASSWORD_RESET } from './mailed-link-ends.ts'
import { passwordMark } from './password-mark.ts'
import { findHolders } from './verified-address.ts'

/** @internal */
export interface MailedLinks {
  /** Of a link that is good now; null for any other. */
  find(token: string): Promise<FoundLink | null>
  /** The token of a new one; null for who is not there or may not sign in, and of whom `linkFor` makes none. `also` is stored with it. */
  put(
    userId: string,
    linkFor: (row: UserRow) => NewLink | null,
    also?: (query: Query, token: string) => Promise<unknown>,
  ): Promise<string | null>
  /** Uses it up, in the transaction of `query`, which has the user's row locked from then on. Throws as `notGood`. */
  use(query: Query, token: string, userId: string): Promise<{ row: UserRow; link: StoredLink }>
  /** Whether an invitation went to an address that another account has confirmed since: it confirms nothing then. */
  isTaken(link: StoredLink, row: UserRow, query?: Query): Promise<boolean>
}

/** @internal */
export interface FoundLink {
  readonly row: UserRow
  readonly back: string
}

/**
 * What a link is, and what is told of it.
 * @internal
 */
export interface NewLink {
  readonly of: Pick<StoredLink, 'back' | 'to' | 'confirms'>
  /** Seconds. */
  readonly lifetime: number
  readonly event: NewEvent
}

/** @internal */
export interface StoredLink {
  readonly user: string
  /** Of the hash of the password that it replaces. */
  readonly replaces: string
  readonly back: string
  /** The address to which it went that they had verified. */
  readonly to?: string
  /** The address to which an invitation went. */
  readonly confirms?: string
}

/** Seconds; each says its own. */
const LIFETIME = 3600
/**
 * Of one user: who asks once more does not end what is just being read, and who asks for ever fills nothing.
 * @internal
 */
export const MOST = 5

/** @internal */
export interface MailedLinksOptions {
  database: Database
  audit: AuditTrail
  box: SecretBox
  artifacts: ArtifactStore['artifacts']
}

/** @internal */
export function createMailedLinks(options: MailedLinksOptions): MailedLinks {
  const { database, audit, box } = options
  const links = options.artifacts<StoredLink>(PASSWORD_RESET, { lifetime: LIFETIME, ofUsers: true })

  async function isTaken(
    { confirms }: StoredLink,
    { id }: UserRow,
    query: Query = database.query,
  ): Promise<boolean> {
    if (confirms === undefined) return false
    const holders = await findHolders(query, confirms)
    return holders.some((one) => one.id !== id)
  }

  return {
    isTaken,
    async find(token) {
      const stored = await links.get(token)
      const row = stored === null ? null : await findUserRow(database, stored.user)
      if (stored === null || row === null || !isGood(stored, row)) return null
      return (await isTaken(stored, row)) ? null : { row, back: stored.back }
    },
    async put(userId, linkFor, also) {
      if (!isUuid(userId)) return null
      const token = randomBytes(32).toString('base64url')
      return audit.transaction(async (query, note) => {
        const [row] = await query(statements.lockById, [userId])
        const link = row === undefined || row.disabledAt ? null : linkFor(row)
        if (row === undefined || link === null) return null
        const stored: StoredLink = { user: row.id, replaces: passwordMark(row), ...link.of }
        const values = [PASSWORD_RESET, box.hash(token), stored, link.lifetime, row.id, MOST]
        await query(artifacts.putOfUser, values)
        note(link.event)
        await also?.(query, token)
        return token
      })
    },
    async use(query, token, userId) {
      const [row] = await query(statements.lockById, [userId])
      const [used] = await query(artifacts.spend, [PASSWORD_RESET, box.hashes(token)])
      const link = used?.value as unknown as StoredLink | undefined
      if (row === undefined || link === undefined || !isGood(link, row)) throw notGood()
      return { row, link }
    },
  }
}

/** @internal */
export function isGood({ user, replaces, to, confirms }: StoredLink, row: UserRow): boolean {
  const { email, email_verified: isVerified } = row.claims
  const isTheirs =
    (to === undefined || (email === to && isVerified === true)) &&
    (confirms === undefined || email === confirms)
  return row.id === user && !row.disabledAt && replaces === passwordMark(row) && isTheirs
}

/** @internal */
export function notGood(): OAuthError {
  return new OAuthError(
    'access_denied',
    'this link has been used, is too old, or there is a new password already',
  )
}
