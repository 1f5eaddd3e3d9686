/** The end of mailed links by which a password is set (`mailed-links.ts`), as a part of what ends them. */
import { statements } from '../../store/artifacts.ts'
import type { Query } from '../../store/statement.ts'

/**
 * Their kind of artifacts: of who forgot a password, and of who is invited.
 * @internal
 */
export const PASSWORD_RESET = 'password-reset'

/**
 * All that the user has; returns what was stored of those that were there still.
 * @internal
 */
export async function endMailedLinks(query: Query, userId: string): Promise<readonly object[]> {
  const ended = await query(statements.deleteOwnedOfKind, [userId, PASSWORD_RESET])
  return ended.flatMap(({ value, isThere }) => (isThere ? [value] : []))
}
