/** Keeps a change of users from leaving nobody with a role: who locks the holders first decides, and the next one sees it. */
import { reason } from '../../protocol/message.ts'
import { userError } from '../../protocol/user-members.ts'
import type { Query } from '../../store/statement.ts'
import { statements } from '../../store/user-roles.ts'

/** What a change must not take away. */
export interface Kept {
  /** A role that somebody who may sign in must still have afterwards; `invalid_request` that names `roles` otherwise. */
  keepOneWith?: string
}

/**
 * Who has the role and may sign in; until the end of the transaction nobody else changes that. Comes before the user's
 * own row is locked: of two administrators who do it to each other, one waits here.
 * @internal
 */
export async function lockHolders(query: Query, role: string | undefined): Promise<readonly string[]> {
  return role === undefined ? [] : (await query(statements.lockRole, [role])).map(({ id }) => id)
}

/** Throws where `id`, who has the role or may sign in no longer, was the last of `holders`. */
export function assertKept(role: string, holders: readonly string[], id: string): void {
  if (holders.length === 1 && holders[0] === id)
    throw userError('roles', reason('must keep {role}: nobody else who may sign in has it', { role }))
}
