/** Where a user hears of what is about them. */
import type { User } from '../../src/doors/user.ts'
import { isMailAddress } from '../../src/protocol/mail-address.ts'

/** Null where none is verified, or it is none. */
export function verifiedAddressOf({ claims }: Pick<User, 'claims'>): string | null {
  const { email, email_verified: isVerified } = claims
  return isVerified === true && typeof email === 'string' && isMailAddress(email) ? email : null
}
