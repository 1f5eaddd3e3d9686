/** Whose account an entry of the directory is: the one link between what the entry keeps for ever and a user of ours. */
import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { UserRecord, UserRecords } from '../../src/doors/user-records.ts'
import type { User } from '../../src/doors/user.ts'
import type { NewEvent } from '../../src/events.ts'
import type { Also } from '../../src/services/users/update-options.ts'
import { statements } from '../../src/store/user-records.ts'
import type { LdapConfig } from '../../src/settings/ldap.ts'
import type { Entry } from './entry.ts'

/** As it is kept of a user; their export tells all of it. */
export interface Link {
  /** Which directory; there is one. */
  readonly directory: 'default'
  /** The attribute that names the entry for ever, and its value. */
  readonly attribute: string
  readonly subject: string
  /** What it was called when it was read last: for administrators. */
  readonly dn: string
  /** The account was disabled since the entry was gone, in the transaction that wrote this: unless it was disabled anew since, it is enabled when that is back. */
  readonly gone?: boolean
}

export type Links = UserRecords<Link>

/** Somebody else changed them or their link since they were read. */
export class Changed extends Error {}

export const KIND = 'ldap'

export function createLinks({ oauth }: FastifyInstance): Links {
  return oauth.users.records<Link>(KIND, { unique: true, signsIn: true, most: 1 })
}

/** Of one length, however long the subject is. */
export function linkIdOf({ idAttribute }: LdapConfig, subject: string): string {
  return hash('sha256', ['default', idAttribute.toLowerCase(), subject].join('\0'), 'base64url')
}

export function linkOf({ idAttribute }: LdapConfig, { subject, dn }: Pick<Entry, 'subject' | 'dn'>): Link {
  return { directory: 'default', attribute: idAttribute, subject, dn }
}

/** Whether it is by the attribute that the directory is asked by now. */
export function isAskable({ idAttribute }: LdapConfig, { attribute }: Link): boolean {
  return attribute.toLowerCase() === idAttribute.toLowerCase()
}

/** Whether the directory, and nobody else since, disabled them. */
export function isLeft({ disabledAt }: User, { value, updatedAt }: UserRecord<Link>): boolean {
  return value.gone === true && disabledAt === updatedAt
}

/** Replaces their link together with a change of them. Throws `Changed`. */
export function replacing({ id, revision }: UserRecord<Link>, link: Link): Also {
  return async (query, _note, userId) => {
    const replaced = await query(statements.replace, [userId, KIND, id, link, revision])
    if (replaced.length === 0) throw new Changed()
  }
}

/** Takes their link from them together with a change of them, though it were the last way in. Throws `Changed`. */
export function removing({ id }: UserRecord<Link>, event: NewEvent): Also {
  return async (query, note, userId) => {
    if ((await query(statements.delete, [userId, KIND, id])).length === 0) throw new Changed()
    note(event)
  }
}

/** Null for who is none of the directory's. */
export async function linkOfUser(links: Links, userId: string): Promise<UserRecord<Link> | null> {
  return (await links.list(userId))[0] ?? null
}
