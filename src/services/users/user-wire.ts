/** A user for programs, by the names of the wire: what the command line prints, and the interface of the administration answers. */
import type { Bag } from '../../protocol/bag.ts'
import type { User } from './user.ts'

/** `sub` is how tokens name them; instants are those of RFC 3339. */
export function userToWire({ id, username, roles, disabled, deletesAt, claims }: User): Bag {
  const deletion = deletesAt === null ? {} : { deletes_at: new Date(deletesAt).toISOString() }
  return { sub: id, username, roles, disabled, ...deletion, ...claims }
}
