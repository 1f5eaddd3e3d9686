/** Where a person hears of what happened: at the address that is verified, or was, when that is what changed. */
import type { Static } from 'typebox'
import type { User } from '../../src/doors/user.ts'
import type { AuditEvent } from '../../src/events.ts'
import { isMailAddress } from '../../src/protocol/mail-address.ts'
import { Type } from '../../src/protocol/schema.ts'
import { verifiedAddressOf } from '../mail/verified-address-of.ts'

/** What a payload says of it. */
export const Recipient = Type.Object({
  /** The address that it was, where it was verified; without it, the one that is. */
  former: Type.Optional(Type.String()),
  /** Whether it was verified is what the present one is: that did not change. */
  asPresent: Type.Optional(Type.Boolean()),
})
export type Recipient = Static<typeof Recipient>

/** The address of somebody as they are now, what was told of being a moment old; null for none. */
export function addressFor({ former, asPresent = false }: Recipient, user: User): string | null {
  if (asPresent && user.claims['email_verified'] !== true) return null
  const to = former ?? verifiedAddressOf(user)
  return to !== null && isMailAddress(to) ? to : null
}

/** Null where none was verified, or none changed. */
export function formerAddressIn({ details }: AuditEvent<'user.changed'>): Recipient | null {
  const [former] = details.changes['email'] ?? []
  const verified = details.changes['email_verified']
  if (typeof former !== 'string' || (verified !== undefined && verified[0] !== true)) return null
  return verified === undefined ? { former, asPresent: true } : { former }
}
