/** Whether a change of a user takes the address away that alone let them in: by a mailed code, or by a link for a new password. */
import type { Query } from '../../store/statement.ts'
import type { UserRow } from '../../store/users.ts'
import type { UpdateOptions } from './update-options.ts'
import { emailKeyOf } from './user.ts'

/** They could not sign in any more. */
export class NoWayIn extends Error {}

/**
 * What the audit log tells of it beside the change. `row` is what the transaction of `query` has made of `before`. Throws `NoWayIn` for who wants to
 * be asked.
 * @internal
 */
export async function tellLostWay(
  query: Query,
  { waysInBy }: { waysInBy: (query: Query, userId: string) => Promise<readonly string[]> },
  [before, row]: readonly [UserRow, UserRow],
  { keepsWayIn = false, passwordHash }: UpdateOptions,
): Promise<{ noWayIn?: true }> {
  if (emailKeyOf(before) === null || emailKeyOf(row) !== null || passwordHash !== undefined) return {}
  if ((await waysInBy(query, row.id)).length > 0) return {}
  if (keepsWayIn) throw new NoWayIn()
  return { noWayIn: true }
}
