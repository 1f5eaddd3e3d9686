/** Forgotten passwords: a link in a mail by which people set another, for an hour. What it is stored as, and when it is good, is in `mailed-links.ts`. */
import { statements } from '../../store/users.ts'
import type { HashChosen } from './chosen-passwords.ts'
import { notGood, type MailedLinks } from './mailed-links.ts'
import type { AlsoUsed } from './password-links.ts'
import { endWithPassword, noteChanges, type UserChange } from './user-changes.ts'
import { toUser, type User } from './user.ts'
import { claimAddress, isOfAddress } from './verified-address.ts'

export interface PasswordResets {
  /**
   * The token of a link for the user; null for who is not there or may not sign in. `back` is where they came from, or `''`; `to` the verified
   * address that it goes to: it ends when that is not theirs any more.
   */
  make(userId: string, back: string, to?: string): Promise<string | null>
  /** Whose link it is, also where it is an invitation; null where it is not good now. */
  find(token: string): Promise<{ readonly user: User; readonly back: string } | null>
  /**
   * Sets the password, uses the link up and ends everything of the user; an invitation confirms their address. Throws `access_denied` for a link
   * that is not good, or whose address somebody else has confirmed meanwhile, and `invalid_request` that names `password`; the link stays good
   * then. `also` is stored with it.
   */
  setPassword(token: string, password: string, also?: AlsoUsed): Promise<User>
}

/** Seconds. */
const LIFETIME = 3600

/** @internal */
export interface PasswordResetsOptions {
  links: MailedLinks
  changeUser: UserChange
  hashChosen: HashChosen
}

/** @internal */
export function createPasswordResets({
  links,
  changeUser,
  hashChosen,
}: PasswordResetsOptions): PasswordResets {
  return {
    async make(userId, back, to) {
      const expires = Math.floor(Date.now() / 1000) + LIFETIME
      return links.put(userId, ({ id: user }) => ({
        of: { back, ...(to === undefined ? {} : { to }) },
        lifetime: LIFETIME,
        event: { type: 'user.password_link_made', user, details: { expires } },
      }))
    },
    async find(token) {
      const found = await links.find(token)
      return found && { user: toUser(found.row), back: found.back }
    },
    async setPassword(token, password, also) {
      // Before anything else is said, and as hashing is dear: not for strangers.
      const found = await links.find(token)
      if (found === null) throw notGood()
      const { id, username, roles } = found.row
      const hashed = await hashChosen(password, { username, roles, inPerson: true })
      const set = changeUser(async (query, note) => {
        const { row: locked, link } = await links.use(query, token, id)
        const claims = link.confirms === undefined ? {} : { email_verified: true }
        const [changed] = await query(statements.update, [id, claims, null, hashed])
        await claimAddress(query, changed!, claims)
        noteChanges(note, locked, changed!)
        await endWithPassword(query, note, id)
        await also?.(query, id)
        return changed!
      })
      const row = await set.catch((error: unknown) => {
        throw isOfAddress(error) ? notGood() : error
      })
      return toUser(row)
    },
  }
}
