/** That a user name is one user's, and how they come to another: the index says whose it is, whoever comes at once. */
import { reason } from '../../protocol/message.ts'
import { userError } from '../../protocol/user-members.ts'
import { usernameKey } from '../../protocol/username.ts'
import { isDuplicate } from '../../store/failures.ts'
import type { Query } from '../../store/statement.ts'
import { statements, type UserRow } from '../../store/users.ts'

/** @internal */
export const nameTaken = () => userError('username', reason('is already taken'))

/**
 * The user of this row, which the transaction has locked, is called `wanted` from then on, if they may be; another form of the name that they have is shown, too.
 * Throws `invalid_request` that names `username` for one that is somebody else's, and where they may not be called otherwise.
 * @internal
 */
export async function rename(
  query: Query,
  { id, username }: UserRow,
  wanted: string,
  { mayRename = false }: { mayRename: boolean | undefined },
): Promise<void> {
  const key = usernameKey(wanted)
  if (!mayRename && key !== usernameKey(username)) throw userError('username', reason('cannot be changed'))
  if (!mayRename || wanted === username) return
  await query(statements.rename, [id, wanted, key]).catch((error: unknown) => {
    throw isDuplicate(error) ? nameTaken() : error
  })
}
